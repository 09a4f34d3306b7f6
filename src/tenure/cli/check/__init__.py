"""What `tenure doctor` looks at, and how a finding is said."""
