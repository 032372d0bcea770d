"""python -m fairfl, or fairfl where it is installed: the commands of fairfl.commands.main."""

from fairfl.commands.main import main_and_leave

if __name__ == "__main__":
    main_and_leave()
