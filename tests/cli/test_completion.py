"""Completion in the shells, as ``oreqa --install-completion`` sets it up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

START = "import sys; sys.argv[0] = 'oreqa'; from oreqa.cli import main; main()"


def install(shell: str, home: Path) -> dict[str, str]:
    """Set completion up in a home. Returns the environment of a shell there, in which oreqa is a command."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "oreqa").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "$START" "$@"\n')
    (home / "bin" / "oreqa").chmod(0o755)
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "SHELL": shell, "PATH": path, "START": START}
    command = [shell, "-c", "oreqa --install-completion; exit"]  # typer sees which shell runs it
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert f"{shell} completion installed" in done.stdout, done
    return environment


@pytest.mark.system
@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not here")
def test_bash_completes_a_command_an_option_and_a_file(tmp_path: Path) -> None:
    environment = install("bash", tmp_path)
    script = """
        . ~/.bashrc
        try() { COMP_WORDS=($1); COMP_CWORD=$2; COMPREPLY=(); _oreqa_completion oreqa; echo "${COMPREPLY[*]}"; }
        try "oreqa expl" 1
        try "oreqa ask --where x --thr" 4
        try "oreqa index do" 2
        complete -p oreqa
    """
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    # Without a word of ours bash completes files, by "default".
    assert done.stdout.splitlines() == ["explain", "--threshold", "", "complete -o default -F _oreqa_completion oreqa"], done


def test_the_first_tab_of_zsh_completes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from oreqa.cli.application import finish_zsh_completion

    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    finish_zsh_completion()  # another shell's: there is nothing to do
    (tmp_path / ".zfunc").mkdir()
    file = tmp_path / ".zfunc" / "_oreqa"
    file.write_text("#compdef oreqa\ncompdef _oreqa_completion oreqa")
    for _ in range(2):
        finish_zsh_completion()
        assert file.read_text() == '#compdef oreqa\ncompdef _oreqa_completion oreqa\n\n_oreqa_completion "$@"\n'
