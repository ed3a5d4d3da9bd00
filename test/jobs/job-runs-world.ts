import { type JobRun, runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { type AcceptRun, type AcceptRunTools, acceptRun } from '../../lambdas/jobs/use/accept-run.ts';
import type { AskForRunTools } from '../../lambdas/jobs/use/ask-for-run.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { clockedRunOperation } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { PORT_VOICE } from '../support/faulty-ports.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

/** What the clock asks for: the same however often. */
export function clocked(jobId: string, scheduledForMs: number): AcceptRun {
  return {
    operationId: clockedRunOperation(systemDigest, runIdOf(jobId, scheduledForMs)),
    fingerprint: fingerprintOf(systemDigest, { body: { scheduled_for: scheduledForMs }, query: {} }),
    jobId,
    scheduledForMs,
  };
}

/** The stores and the queue behind the routes of jobs, and what the executor remembers; each call of a process is a point. */
export class JobRunsWorld {
  readonly clock = new SimulatedClock();
  readonly entropy = countingEntropy();
  readonly plan: FaultPlan;
  readonly #stores = new Stores(this.clock);
  readonly runs = this.#stores.jobRuns;
  readonly records = this.#stores.consumed;
  readonly enqueued: string[] = [];

  constructor(plan = new FaultPlan()) {
    this.plan = plan;
  }

  consumptions(): ReturnType<Stores['consumptions']> {
    return this.#stores.consumptions();
  }

  allRuns(): readonly JobRun[] {
    return this.#stores.allRuns();
  }

  actor(name: string): Actor {
    return new Actor(name, this.plan);
  }

  /** The route's, as one process has them. */
  accepting(actor: Actor): AcceptRunTools {
    const { runs, clock, entropy } = this;
    return {
      runs: {
        accept: (record, run) => actor.call('accept', PORT_VOICE, () => runs.accept(record, run)),
        readAccepted: (id) => actor.call('readAccepted', PORT_VOICE, () => runs.readAccepted(id)),
        readRun: (job, id) => actor.call('readRun', PORT_VOICE, () => runs.readRun(job, id)),
        listRuns: (job, page) => runs.listRuns(job, page),
        lock: (name, id, times) => runs.lock(name, id, times),
        save: (run, lock, leaseExpiresAtMs) => runs.save(run, lock, leaseExpiresAtMs),
      },
      tasks: {
        enqueue: ({ runId }) =>
          actor.call('enqueue', PORT_VOICE, async () => {
            this.enqueued.push(runId);
          }),
      },
      runner: idempotentRunner,
      digest: systemDigest,
      clock,
      entropy,
    };
  }

  /** The executor's; its calls reach a route that is a process of its own. */
  asking(actor: Actor): AskForRunTools {
    const { records, clock, entropy } = this;
    return {
      routes: {
        ask: ({ runId, scheduledForMs }) =>
          actor.call('ask', PORT_VOICE, async () => {
            const [jobId = ''] = runId.split(':');
            const { kind } = await acceptRun(this.accepting(this.actor('route')), clocked(jobId, scheduledForMs));
            invariant(kind === 'first' || kind === 'replay', `the route said ${kind}`);
          }),
      },
      records: {
        readEffect: (id) => actor.call('readEffect', PORT_VOICE, () => records.readEffect(id)),
        recordOnce: (record, writes) => actor.call('recordOnce', PORT_VOICE, () => records.recordOnce(record, writes)),
      },
      runner: idempotentRunner,
      digest: systemDigest,
      clock,
      entropy,
    };
  }

  /** As a worker leaves it. */
  async end(run: JobRun): Promise<void> {
    const nowMs = this.clock.nowMs();
    const lock = await this.runs.lock(run.jobId, run.runId, { nowMs, leaseExpiresAtMs: nowMs + 60_000 });
    invariant(lock !== undefined, 'nobody holds the lock');
    const ended = {
      ...run,
      status: 'succeeded',
      startedAtMs: nowMs,
      endedAtMs: nowMs,
      version: run.version + 1,
    } as const;
    invariant(await this.runs.save(ended, lock, nowMs), 'nobody else has saved');
  }
}
