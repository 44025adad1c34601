"""What tests of several rooms use."""
