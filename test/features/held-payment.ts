import type { Clock } from '../../lambdas/kernel/world.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import type { Reply } from '../world/api.ts';
import type { DeployedPayments } from './deployed-payments.ts';

/** A request that has come as far as the processor, and stays there until it is let go: no timer decides. */
export class HeldPayment {
  /** Whether it is still held when a client has waited as long as it would. */
  outlastsWaiting = false;
  readonly #site: DeployedPayments;
  readonly #letGo = Promise.withResolvers<void>();
  readonly #reachedProcessor = Promise.withResolvers<void>();
  readonly #reply: Promise<Reply>;

  private constructor(site: DeployedPayments, key: string) {
    this.#site = site;
    const { processor } = site;
    const holding = {
      ...processor,
      charge: async (...call: Parameters<typeof processor.charge>) => {
        this.#reachedProcessor.resolve();
        await this.#letGo.promise;
        return processor.charge(...call);
      },
    };
    this.#reply = site.process(dynamoDbClient(), { processor: holding }).pay(key);
  }

  static async begin(site: DeployedPayments, key: string): Promise<HeldPayment> {
    const held = new HeldPayment(site, key);
    await Promise.race([held.#reachedProcessor.promise, held.#reply]);
    return held;
  }

  async end(): Promise<Reply> {
    this.#letGo.resolve();
    return this.#reply;
  }

  /** The clock of a process that waits for this request: while it sleeps, time passes and the request may end. */
  clockOfWaiting(): Clock {
    const { clock } = this.#site;
    return {
      nowMs: () => clock.nowMs(),
      sleep: async (ms) => {
        if (!this.outlastsWaiting) await this.end();
        await clock.sleep(ms);
      },
    };
  }
}
