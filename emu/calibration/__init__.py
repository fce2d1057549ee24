"""What is measured before the cells and given to the models: links, receivers, acceptance."""
