// What opening an entry of a tree does. VS Code forgets the arguments of an entry's command when the entry is told anew, and a
// click that is on its way then fails; so the command has none, and means the entry that the click has selected.
import { commands, type Command, type Disposable, type TreeView } from "vscode";

const nameOf = (view: string): string => `${view}.openSelected`;

/** The command of all entries of a view. */
export function opensSelected(view: string): Command {
  return { command: nameOf(view), title: "" };
}

/** Registers it. */
export function registerOpening<T>(
  id: string,
  view: Pick<TreeView<T>, "selection">,
  open: (entry: T) => unknown,
): Disposable {
  return commands.registerCommand(nameOf(id), () => {
    const [entry] = view.selection;
    return entry && open(entry);
  });
}
