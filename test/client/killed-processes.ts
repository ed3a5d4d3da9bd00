import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const living = new Set<ReturnType<typeof begin>>();

export function begin(program: string, variables: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, program)], {
    env: { PATH: process.env['PATH'] ?? '', ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code, signal]: readonly unknown[]) => ({ code, signal }));
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => said.push(line));
  const begun = {
    said,
    exited,
    kill: () => child.kill('SIGKILL'),
    /**
     * Returns the first output line that starts with the word, without the word; undefined if the process ends without
     * such a line.
     */
    says: async (word: string): Promise<string | undefined> => {
      const find = () => said.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
      const ended = exited.then(() => 'ended');
      while (find() === undefined) if ((await Promise.race([once(lines, 'line'), ended])) === 'ended') break;
      return find();
    },
  };
  living.add(begun);
  return begun;
}

export async function endProcesses(): Promise<void> {
  for (const each of living) {
    each.kill();
    await each.exited;
  }
  living.clear();
}
