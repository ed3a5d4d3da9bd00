import { appendFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import vm from 'node:vm';
import type { Circus } from '@jest/types';
import { TestEnvironment } from 'jest-environment-node';
import { PROJECT } from '../../local/directories.ts';
import { isSelected, selectionOfRun } from '../run/turns.ts';
import { casesPerFile } from './budgets.ts';
import { COSTS } from './costs.ts';

const { createContext } = vm;

// The stacks set the same namespace of CloudWatch metrics.
process.env['POWERTOOLS_METRICS_NAMESPACE'] = 'Payonce';

// Disables the CDK's own template rules, because each suite would load their engine again. `npm run synth` applies
// these rules. A plugin that a test adds is still applied.
process.env['CDK_VALIDATION'] = 'false';

/** Ends a worker whose Jest process was killed, together with its child processes. */
const endWorker = (): never => process.exit(1);

declare global {
  /** Adds `count` cases to the current file, and throws if the file exceeds its budget. Undefined outside Jest. */
  var spendCases: ((count: number) => void) | undefined;
  /** Loads a test file into a separate block, if the run includes it. @param file path in the project */
  var loadTestFile: (file: string, load: () => Promise<unknown>) => Promise<void>;
  /** Calls `work` after the last test of the folder, or after the last test of the file if the file runs alone. */
  var atEnd: (work: () => unknown) => void;
}

/**
 * Jest's own environment for Node, with these changes.
 *
 * - The global object is not behind a proxy. With the proxy, each use of `Error`, `Math` or `JSON` is a call into C++,
 *   and these calls took four tenths of the time of CPU-bound tests.
 * - Errors collect fewer stack frames, and a worker ends when its Jest process is killed.
 * - `loadTestFile` loads a further test file, if the run includes it, into a separate block, so that its hooks apply
 *   only to its own tests.
 * - `spendCases` limits each test file to its budget.
 * - `atEnd` cleans up resources that several files share.
 * - The costs of each file are recorded (test/support/costs.ts).
 */
export default class PayonceEnvironment extends TestEnvironment {
  readonly #file: string;
  #circus: Circus.State | undefined;
  #current: string;
  readonly #ends: (() => unknown)[] = [];
  readonly #costs = new Map<string, { cpuMs: number; cases: number }>();

  constructor(...given: ConstructorParameters<typeof TestEnvironment>) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(...given);
      // Limits the frames that each error collects, because many tests create errors.
      this.global.Error.stackTraceLimit = 20;
    } finally {
      vm.createContext = createContext;
    }
    this.#file = relative(PROJECT, given[1].testPath).split(sep).join('/');
    this.#current = this.#file;
    Object.assign(this.global, {
      loadTestFile: this.#loadTestFile.bind(this),
      spendCases: this.#spendCases.bind(this),
      atEnd: (work: () => unknown) => this.#ends.push(work),
    });
  }

  readonly handleTestEvent: Circus.EventHandler = (event, state) => {
    this.#circus = state;
    const block = event.name === 'run_describe_start' ? event.describeBlock : undefined;
    if (block?.parent !== undefined) this.#enter(this.#fileOf(block));
    if (event.name === 'test_start') this.#enter(this.#fileOf(event.test.parent));
  };

  override async setup(): Promise<void> {
    process.on('disconnect', endWorker);
    await super.setup();
  }

  override async teardown(): Promise<void> {
    // Between test files, this listener would prevent the worker from exiting by itself.
    process.off('disconnect', endWorker);
    this.#endSpan();
    const path = process.env[COSTS];
    if (path !== undefined) {
      const lines = [...this.#costs].map(([file, cost]) => `${JSON.stringify({ file, ...cost })}\n`);
      appendFileSync(path, lines.join(''));
    }
    const ended = await Promise.allSettled(this.#ends.map(async (work) => work()));
    await super.teardown();
    const failed = ended.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #loadTestFile(file: string, load: () => Promise<unknown>): Promise<void> {
    if (!isSelected(file, selectionOfRun())) return;
    const circus = this.#circus;
    if (circus === undefined) throw new Error('jest-circus is not running');
    this.#endSpan();
    this.#current = file;
    const outer = circus.currentDescribeBlock;
    // The file's tests are then added to this block.
    const { describe } = this.global as unknown as { readonly describe: (name: string, body: () => void) => void };
    let block = outer;
    describe(file, () => {
      block = circus.currentDescribeBlock;
    });
    circus.currentDescribeBlock = block;
    await load();
    circus.currentDescribeBlock = outer;
    this.#endSpan();
  }

  #enter(file: string): void {
    this.#endSpan();
    this.#current = file;
  }

  #fileOf(inner: Circus.DescribeBlock): string {
    let block = inner;
    while (block.parent?.parent !== undefined) block = block.parent;
    return block.name.endsWith('.test.ts') ? block.name : this.#file;
  }

  #spendCases(count: number): void {
    const file = this.#current;
    const cost = this.#costOf(file);
    cost.cases += count;
    const budget = casesPerFile(file);
    if (cost.cases <= budget) return;
    throw new Error(
      `${file} runs ${cost.cases} cases, but its budget is ${budget} (test/support/budgets.ts): run a slice in "npm test"`,
    );
  }

  #costOf(file: string): { cpuMs: number; cases: number } {
    const cost = this.#costs.get(file) ?? { cpuMs: 0, cases: 0 };
    this.#costs.set(file, cost);
    return cost;
  }

  #spanBegan = process.cpuUsage();
  #endSpan(): void {
    const { user, system } = process.cpuUsage(this.#spanBegan);
    this.#spanBegan = process.cpuUsage();
    this.#costOf(this.#current).cpuMs += (user + system) / 1_000;
  }
}
