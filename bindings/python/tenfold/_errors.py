"""What goes wrong, as the compiler and the runtime say it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: a stable `id`, a sentence, and the user's own place."""

    id: str
    message: str
    location: str = ""
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.location}: " if self.location else ""
        return "\n    ".join([f"{head}{self.message} [{self.id}]", *self.notes])


class Error(Exception):
    """Every problem of a model or a call, in `problems`; `id` and `location` are the first's."""

    def __init__(self, problems: list[tuple[str, str, str, list[str]]]) -> None:
        self.problems = [Problem(*p) for p in problems]
        super().__init__("\n".join(str(p) for p in self.problems))

    @property
    def id(self) -> str:
        return self.problems[0].id if self.problems else ""

    @property
    def location(self) -> str:
        return self.problems[0].location if self.problems else ""
