"""python -m fairfl, or fairfl where it is installed: the commands of fairfl.commands.main."""

from fairfl.commands.main import main

if __name__ == "__main__":
    main()
