"""Which server holds which tensor."""
