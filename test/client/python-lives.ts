import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROJECT } from '../../local/directories.ts';
import { ensurePython } from '../../local/python-environment.ts';

const PYTHON_CLIENT = join(PROJECT, 'clients', 'python');

/** If Python fails, throws an error with its output. */
export async function python(
  words: readonly string[],
  { input = '', path = [join(PYTHON_CLIENT, 'src'), join(PYTHON_CLIENT, 'tests')], program = '' } = {},
): Promise<string> {
  const child = spawn(program === '' ? await ensurePython() : program, ['-B', ...words], {
    cwd: PYTHON_CLIENT,
    env: { PATH: process.env['PATH'] ?? '', PYTHONPATH: path.join(':') },
  });
  child.stdin.end(input);
  const exited = once(child, 'exit') as Promise<readonly unknown[]>;
  const [[code], said, reported] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`python ${words.join(' ')} ended with ${String(code)}: ${said}${reported}`);
  return `${said}${reported}`;
}

/** `clients/python/tests/lives.py` explains the fields. */
export interface Plan {
  readonly url: string;
  readonly api_key: string;
  readonly folder: string;
  readonly store: 'file' | 'sqlite' | 'postgres' | 'late' | 'forgetful';
  readonly database?: string;
  readonly points: 'steps' | 'lines';
  readonly crashes: number;
  readonly racers?: number;
  readonly rounds?: number;
  readonly parts?: number;
  readonly part?: number;
  readonly waitFactor?: number;
  readonly corrects?: true;
  readonly source: string;
  readonly amount: number;
}

interface Played {
  readonly amount: number;
  readonly points: readonly number[];
  readonly outcomes: readonly { readonly id: string; readonly status: string }[];
}

export async function lives(plan: Plan, program = ''): Promise<readonly Played[]> {
  const said = await python(['tests/lives.py'], { input: JSON.stringify(plan), program });
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Played);
}

/** @param charged the amounts of all charges, including declined ones */
export function findingsIn(histories: readonly Played[], charged: readonly number[]): readonly string[] {
  return histories.flatMap(({ amount, points, outcomes }) => {
    const made = charged.filter((each) => each === amount).length;
    const different = new Set(outcomes.map((each) => JSON.stringify(each))).size;
    return [
      ...(made === 1 ? [] : [`${made} charges after crashes at ${points.join(', ')}`]),
      ...(different === 1 ? [] : [`${different} outcomes after crashes at ${points.join(', ')}`]),
    ];
  });
}

/** Returns the environment's interpreter. */
export async function installed(wheel: string, environment: string): Promise<string> {
  await python(['-m', 'venv', '--without-pip', environment]);
  const program = join(environment, 'bin', 'python');
  // The new environment has no pip, so its interpreter runs the pip of the project's environment. pip installs into the
  // environment of the interpreter that runs it.
  const pip = (await python(['-c', 'import pathlib, pip; print(pathlib.Path(pip.__file__).parents[1])'])).trim();
  const options = ['--quiet', '--disable-pip-version-check', '--no-index', '--only-binary', ':all:'];
  await python(['-m', 'pip', 'install', ...options, wheel], { program, path: [pip] });
  return program;
}
