import type { Clock } from '../../lambdas/kernel/world.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import type { Reply } from '../world/api.ts';
import type { PaymentSite } from './payment-site.ts';

/** The request waits without a timer. */
export class HeldPayment {
  /** The request waits longer than a client's maximum waiting time. */
  outlastsWaiting = false;
  readonly #site: PaymentSite;
  readonly #letGo = Promise.withResolvers<void>();
  readonly #reachedProcessor = Promise.withResolvers<void>();
  readonly #reply: Promise<Reply>;

  private constructor(site: PaymentSite, key: string) {
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
    this.#reply = site.serve(dynamoDbClient(), { processor: holding }).pay(key);
  }

  static async begin(site: PaymentSite, key: string): Promise<HeldPayment> {
    const held = new HeldPayment(site, key);
    await Promise.race([held.#reachedProcessor.promise, held.#reply]);
    return held;
  }

  async end(): Promise<Reply> {
    this.#letGo.resolve();
    return this.#reply;
  }

  /** While the waiting process sleeps, time passes, and the request completes unless `outlastsWaiting` is true. */
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
