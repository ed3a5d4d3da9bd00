import type { JobId } from '../../lambdas/jobs/contract/jobs.ts';
import { JOB_MESSAGE_HIDDEN_SECONDS } from '../../lambdas/jobs/contract/runs.ts';
import { acceptedRun, isEnded, type JobRun, type RunId } from '../../lambdas/jobs/domain/job-run.ts';
import { type Job, ONE_DONE } from '../../lambdas/jobs/use/job.ts';
import type { JobLock, JobRunStore, JobTasks } from '../../lambdas/jobs/use/job-runs.ts';
import { type WorkRunTools, workRun } from '../../lambdas/jobs/use/work-run.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { type Actor, FaultPlan } from '../support/fault-plan.ts';
import { PORT_ERRORS, portWithFaults } from '../support/faulty-ports.ts';
import { skewed } from '../support/simulated-clock.ts';
import { World } from '../world/world.ts';
import { countingJob, LONG_JOB_ID, recordingObserver, recordOf } from './job-fixtures.ts';

/** If a page crashes its workers, the run needs eight deliveries. A real queue allows far more. */
const MAX_RECEIVES = 12;

export interface JobWorldOptions {
  readonly items: number;
  /** @default a job that may take four hours */
  readonly jobId?: JobId;
  /**
   * Whether a run may fail because it exceeds its time limit.
   * @default false
   */
  readonly mayGiveUp?: boolean;
  /** Clock skews in milliseconds. The workers use them in turn. @default no skew */
  readonly skews?: readonly number[];
  /**
   * Clock skews, in milliseconds, of the workers that receive messages of the most recently fired run.
   *
   * @default `skews`
   */
  readonly lastSkews?: readonly number[];
  /** Whether the last due message is delivered first. @default false */
  readonly reordered?: boolean;
  /** Number of messages that are delivered twice, counted from the first sent message. @default 0 */
  readonly doubled?: number;
  /** The store of the runs: the engine's store, or a faulty one whose defect the histories must detect. */
  readonly store?: JobRunStore;
  readonly work?: typeof workRun;
}

interface Message {
  readonly run: Pick<JobRun, 'jobId' | 'runId' | 'version'>;
  readonly receives: number;
  readonly visibleAtMs: number;
}

/** Duration of an item, in milliseconds. A page is limited to one minute, so it has two items. */
const ITEM_MS = 30_000;
/** No history needs nearly as many deliveries. */
const MAX_DELIVERIES = 400;

export class JobWorld extends World {
  readonly observer = recordingObserver();
  /** Recorded outside the store, keyed by run and item. */
  readonly effects = new Set<string>();
  readonly violations: string[] = [];
  readonly #options: JobWorldOptions;
  readonly #jobId: JobId;
  readonly #runs: JobRunStore;
  readonly #held = new Map<string, JobLock>();
  readonly #written = new Map<RunId, JobRun>();
  #queue: Message[] = [];
  #last: RunId | undefined;
  #workers = 0;
  #doubled: number;

  constructor(options: JobWorldOptions, plan: FaultPlan = new FaultPlan()) {
    super({ plan });
    this.#options = options;
    this.#jobId = options.jobId ?? LONG_JOB_ID;
    this.#runs = options.store ?? this.store.jobRuns;
    this.#doubled = options.doubled ?? 0;
  }

  /** Fires a tick twice, which results in one record, one run and two messages. @param minute number of the tick */
  async fire(minute: number): Promise<JobRun> {
    const nowMs = this.clock.nowMs();
    const run = acceptedRun(this.#jobId, nowMs + minute * 60_000, nowMs);
    const record = recordOf(run);
    this.#last = run.runId;
    const outcomes = [
      await this.#runs.accept(record, run),
      await this.#runs.accept({ ...record, owner: ownerToken('again') }, run),
    ];
    if (outcomes[1]?.kind !== 'recorded_before') this.violations.push('a run fired twice was accepted twice');
    for (const _ of outcomes) this.#send(run, nowMs + minute * 60_000);
    return run;
  }

  async drain(): Promise<void> {
    for (let delivery = 0; delivery < MAX_DELIVERIES; delivery += 1) {
      const message = this.#next();
      if (message === undefined) return;
      await this.receive(message);
    }
    this.violations.push('the queue never becomes empty');
    this.#queue = [];
  }

  async drainSideBySide(): Promise<void> {
    for (let round = 0; round < MAX_DELIVERIES; round += 1) {
      if (this.#next() === undefined) return;
      const due = this.#queue.filter(({ visibleAtMs }) => visibleAtMs <= this.clock.nowMs());
      await Promise.all(due.map((message) => this.receive(message)));
    }
    this.violations.push('the queue never becomes empty');
    this.#queue = [];
  }

  async receive(message: Message): Promise<void> {
    const { run, receives } = message;
    if (receives >= MAX_RECEIVES) this.violations.push('a message became a dead letter');
    const visibleAtMs = this.clock.nowMs() + JOB_MESSAGE_HIDDEN_SECONDS * 1000;
    const hidden = { run, receives: receives + 1, visibleAtMs };
    this.#queue = this.#queue.map((each) => (each === message ? hidden : each));
    this.#workers += 1;
    const actor = this.actor(`worker-${this.#workers}`);
    const { work = workRun } = this.#options;
    const ended = await actor.run(() => work(this.#toolsOf(actor, run.runId), run, receives + 1));
    if ('result' in ended && !actor.crashed) this.#queue = this.#queue.filter((each) => each !== hidden);
  }

  sendLate(runs: readonly JobRun[]): void {
    for (const run of runs) this.#send(run, this.clock.nowMs());
  }

  async runNow(run: JobRun): Promise<JobRun> {
    return (await this.#runs.readRun(run.jobId, run.runId)) ?? run;
  }

  /** Records each violation of the invariants that must hold after all work is done. */
  async judge(runs: readonly JobRun[]): Promise<void> {
    const { items, mayGiveUp = false } = this.#options;
    for (const accepted of runs) {
      const run = await this.runNow(accepted);
      if (mayGiveUp && run.status === 'failed') continue;
      if (run.status !== 'succeeded') this.violations.push(`a run is ${run.status}: ${run.reason ?? ''}`);
      const counted = run.done + run.left + run.failed;
      if (counted !== items) this.violations.push(`${counted} items were counted instead of ${items}`);
      const done = [...this.effects].filter((key) => key.startsWith(`${run.scheduledForMs} `)).length;
      if (done + run.failed < items) this.violations.push(`${items - done - run.failed} items were never done`);
      if (run.skipped.length > 0) this.violations.push('an item that crashes no worker was skipped');
    }
  }

  #send({ jobId, runId, version }: Message['run'], visibleAtMs: number): void {
    const message = { run: { jobId, runId, version }, receives: 0, visibleAtMs };
    this.#queue.push(message);
    if (this.#doubled <= 0) return;
    this.#doubled -= 1;
    this.#queue.push({ ...message });
  }

  #next(): Message | undefined {
    const soonest = Math.min(...this.#queue.map(({ visibleAtMs }) => visibleAtMs));
    if (this.#queue.length === 0) return undefined;
    this.clock.advance(Math.max(0, soonest - this.clock.nowMs()));
    const due = this.#queue.filter(({ visibleAtMs }) => visibleAtMs <= this.clock.nowMs());
    return this.#options.reordered === true ? due.at(-1) : due[0];
  }

  #toolsOf(actor: Actor, runId: RunId): WorkRunTools {
    const { skews: all = [0], lastSkews = all } = this.#options;
    const skews = runId === this.#last ? lastSkews : all;
    const clock = skewed(this.clock, skews[this.#workers % skews.length] ?? 0);
    return {
      runs: this.#storeOf(actor),
      tasks: this.#tasksOf(actor),
      jobs: { [this.#jobId]: this.#jobOf(actor) },
      observer: this.observer,
      runner: idempotentRunner,
      clock,
    };
  }

  #tasksOf(actor: Actor): JobTasks {
    const tasks: JobTasks = {
      enqueue: async (run, delaySeconds) => this.#send(run, this.clock.nowMs() + delaySeconds * 1000),
    };
    return portWithFaults(actor, tasks, 'enqueue');
  }

  #jobOf(actor: Actor): Job<string> {
    const job = countingJob(this.#options.items);
    return {
      page: (cursor, limit, run) => actor.call('page', PORT_ERRORS, () => job.page(cursor, limit, run)),
      handle: async (item, { scheduledForMs }) => {
        await actor.call('effect', PORT_ERRORS, async () => this.effects.add(`${scheduledForMs} ${item}`));
        this.clock.advance(ITEM_MS);
        return ONE_DONE;
      },
    };
  }

  #storeOf(actor: Actor): WorkRunTools['runs'] {
    const runs: WorkRunTools['runs'] = {
      readRun: (jobId, runId) => this.#runs.readRun(jobId, runId),
      lock: (name, runId, times) => this.#lock(name, runId, times),
      save: (run, lock, leaseExpiresAtMs) => this.#save(run, lock, leaseExpiresAtMs),
    };
    return portWithFaults(actor, runs, 'readRun', 'lock', 'save');
  }

  async #lock(...[name, runId, times]: Parameters<JobRunStore['lock']>): Promise<JobLock | undefined> {
    const lock = await this.#runs.lock(name, runId, times);
    if (lock === undefined) return undefined;
    // The record is read after the call, so that it includes an acquisition that completed during the call.
    const held = this.#held.get(name);
    if (held !== undefined && held.runId !== runId && held.leaseExpiresAtMs > times.nowMs) {
      this.violations.push('a lock was taken from the run that holds it');
    }
    if (lock.token <= (held?.token ?? 0)) this.violations.push('two acquisitions have the same token');
    this.#held.set(name, lock);
    return lock;
  }

  async #save(...[run, lock, leaseExpiresAtMs]: Parameters<JobRunStore['save']>): Promise<boolean> {
    const before = this.#written.get(run.runId);
    const saved = await this.#runs.save(run, lock, leaseExpiresAtMs);
    if (!saved) return false;
    const held = this.#held.get(lock.name);
    if (held?.token !== lock.token) this.violations.push('a worker wrote after another worker took over');
    else this.#held.set(lock.name, { ...held, leaseExpiresAtMs: isEnded(run) ? 0 : leaseExpiresAtMs });
    if (before !== undefined && isEnded(before) && outcomeOf(before) !== outcomeOf(run)) {
      this.violations.push('a run was changed after its end');
    }
    if (run.done + run.left + run.failed > this.#options.items)
      this.violations.push('more items were counted than exist');
    this.#written.set(run.runId, run);
    return true;
  }
}

function outcomeOf({ status, reason, done, left, failed, endedAtMs }: JobRun): string {
  return JSON.stringify([status, reason, done, left, failed, endedAtMs]);
}
