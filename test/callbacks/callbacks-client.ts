import { createHmac } from 'node:crypto';
import type { CallbacksApiTools } from '../../lambdas/callbacks/callbacks-api.ts';
import type { ConfiguredSource } from '../../lambdas/processors/configured-processors.ts';
import type { SandboxEvent } from '../../lambdas/processors/sandbox/sandbox-api.ts';
import { readSandboxEvent } from '../../lambdas/processors/sandbox/sandbox-event.ts';
import { SCHEMES, type SignatureSchemeName } from '../processors/signature-schemes.ts';
import { Api, type Asked, type Reply } from '../world/api.ts';
import { World } from '../world/world.ts';

export const SECRET = 'a-secret-of-the-processor';
export const CALLBACKS = '/callbacks/memory/test';

/** The processor signs its callbacks like the sandbox. */
export class CallbacksClient extends Api {
  /** A test may change the secrets, as an operator would. */
  secrets: readonly string[] = [SECRET];

  constructor(
    scheme: SignatureSchemeName = 'sandbox',
    secrets?: CallbacksApiTools['secrets'],
    effects?: (store: World['store']) => CallbacksApiTools['effects'],
  ) {
    const world = new World();
    const source: ConfiguredSource = {
      name: 'memory',
      mode: 'test',
      scheme,
      secretId: 'a-secret',
      signature: SCHEMES[scheme],
      readEvent: (body) => readSandboxEvent({ processorName: 'memory', mode: 'test' }, body),
      books: world.processor,
    };
    const own = { active: async () => this.secrets, renewed: async () => undefined };
    const callbacks = { sources: [source], secrets: secrets ?? own };
    super(
      { callbacks, ...(effects === undefined ? {} : { effects: { ...world.tools.effects, ...effects(world.store) } }) },
      world,
    );
  }

  /** `headers` and `event` override parts of the signed request. */
  deliver(body: string | Uint8Array, { headers, event }: Asked = {}): Promise<Reply> {
    const bytes = Buffer.from(body);
    return this.ask('POST', CALLBACKS, {
      headers: { 'Sandbox-Signature': this.sign(bytes), ...headers },
      event: { body: bytes.toString('utf8'), ...event },
    });
  }

  sign(bytes: Uint8Array, secret = SECRET, atMs = this.clock.nowMs()): string {
    const seconds = Math.floor(atMs / 1000);
    const mac = createHmac('sha256', secret).update(`${seconds}.`).update(bytes).digest('hex');
    return `t=${seconds},v1=${mac}`;
  }

  stored(): number {
    return this.store.effectIds().length;
  }
}

export function eventBody(eventId: string, charge: string, changes: Partial<SandboxEvent> = {}): string {
  const event: SandboxEvent = {
    id: eventId,
    object: 'event',
    type: 'charge.succeeded',
    livemode: false,
    created: 1_772_366_400,
    data: { charge, payment: null },
    ...changes,
  };
  return JSON.stringify(event);
}
