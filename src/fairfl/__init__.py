from fairfl.runtime import loaded

loaded.install()
