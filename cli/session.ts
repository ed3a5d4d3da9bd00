import { type Command, InvalidArgumentError } from 'commander';
import { Listr } from 'listr2';
import { StackName } from '../lambdas/kernel/contract/api.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { accessTo } from '../local/emulator-environment.ts';
import { StateFile } from '../local/state-file.ts';
import type { AwsTarget } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';

export interface Surroundings {
  readonly print: (text: string) => void;
  /** @default the line is omitted */
  readonly note?: (text: string) => void;
  readonly isTerminal: boolean;
  readonly freshKey: () => string;
}

interface Options {
  readonly local?: boolean;
  readonly json?: boolean;
  readonly directory: string;
  readonly operator: string;
  readonly environment?: string;
  readonly stack?: string;
}

/** Applies to progress lines that are not shown on a terminal. */
const PROGRESS_INTERVAL_MS = 10_000;

type LocalStack = NonNullable<ReturnType<StateFile['read']>>;

export class Session {
  readonly freshKey: () => string;
  readonly #program: Command;
  readonly #surroundings: Surroundings;

  constructor(program: Command, surroundings: Surroundings) {
    this.#program = program;
    this.#surroundings = surroundings;
    this.freshKey = surroundings.freshKey;
  }

  get #options(): Options {
    return this.#program.opts<Options>();
  }

  /**
   * The environment of the deployment, from `--environment`, or derived from the name in `--stack`; undefined for the
   * deployment without an environment.
   */
  get #environment(): string | undefined {
    const { environment, stack } = this.#options;
    if (stack === undefined) return environment;
    const names = Object.values(StackName);
    const name = names.find((each) => stack === each || stack.endsWith(`-${each}`));
    if (name === undefined)
      throw new CliFailure(
        ExitCode.usage,
        `${stack} is not a stack of Payonce: stack names end in ${names.join(', ')}.`,
      );
    const found = stack === name ? undefined : stack.slice(0, -name.length - 1);
    if (environment !== undefined && environment !== found)
      throw new CliFailure(
        ExitCode.usage,
        `The stack ${stack} does not belong to the environment ${environment}: pass either --stack or --environment, not both.`,
      );
    return found;
  }

  /**
   * @throws CliFailure as {@link localStack}, if an environment is also given, or if `--stack` names no Payonce stack
   */
  async local(): Promise<LocalStack | undefined> {
    const { local = false } = this.#options;
    const environment = this.#environment;
    if (!local) return undefined;
    if (environment !== undefined)
      throw new CliFailure(ExitCode.usage, 'The local stack has no environment: use --local or --environment.');
    return this.localStack();
  }

  /** @throws CliFailure when no local stack runs, or it does not respond */
  async localStack(): Promise<LocalStack> {
    const { directory } = this.#options;
    const state = new StateFile(directory);
    const running = await state.running();
    if (running !== undefined) return running;
    if (state.isKept())
      throw new CliFailure(
        ExitCode.unreachable,
        `The local stack in ${directory} runs but does not respond. Try again later, or stop it with "npm stop".`,
      );
    throw new CliFailure(ExitCode.notFound, `No local stack runs in ${directory}: start it with "npm start".`);
  }

  /** The activity log records this name. */
  get operator(): string {
    return this.#options.operator;
  }

  async aws(): Promise<AwsTarget> {
    const local = await this.local();
    const environment = this.#environment;
    if (local === undefined) return defined({ environment });
    return accessTo(local);
  }

  /** Directory of the local stack. Commands also store their state in it. */
  get directory(): string {
    return this.#options.directory;
  }

  writeLine(document: object, line: string): void {
    const { json = false } = this.#options;
    this.#surroundings.print(json ? JSON.stringify(document) : line);
  }

  show(document: unknown, lines: readonly string[]): void {
    const { json = false } = this.#options;
    this.#surroundings.print(json ? JSON.stringify(document, null, 2) : lines.join('\n'));
  }

  note(text: string): void {
    this.#surroundings.note?.(text);
  }

  /**
   * The progress is shown in place on a terminal, otherwise as lines at least ten seconds apart. With `--json`, it is
   * not shown.
   */
  async during<Result>(title: string, work: (report: (progress: string) => void) => Promise<Result>): Promise<Result> {
    const { json = false } = this.#options;
    if (json) return work(() => undefined);
    const { print, isTerminal } = this.#surroundings;
    if (!isTerminal) {
      let printedAtMs = Number.NEGATIVE_INFINITY;
      return work((progress) => {
        const nowMs = Date.now();
        if (nowMs - printedAtMs < PROGRESS_INTERVAL_MS) return;
        printedAtMs = nowMs;
        print(`… ${progress}`);
      });
    }
    const results: Result[] = [];
    const task = {
      title,
      task: async (_: unknown, shown: { output: string }) => {
        results.push(
          await work((progress) => {
            shown.output = progress;
          }),
        );
      },
    };
    await new Listr([task], { rendererOptions: { showErrorMessage: false } }).run();
    const [result] = results;
    return result as Result;
  }
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Omits milliseconds, for example `2026-01-01T00:00:00Z`. */
export function isoTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

export function readCountOf(most: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`${text} is not a number from 1 to ${most}.`);
  };
}

export function readSeconds(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`${text} is not a time in Unix seconds. Example: 1772366400.`);
}
