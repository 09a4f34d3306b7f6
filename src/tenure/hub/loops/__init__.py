"""What happens by itself, one loop a file. Each ends when it is canceled, sleeps until an instant it has computed
or until it is woken, and survives a store that is away for a while."""
