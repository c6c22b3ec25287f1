"""The models that ship with oreqa, and the code that packs them."""
