import type { Mode } from '../kernel/ids.ts';
import type { Clock } from '../kernel/world.ts';
import type { SendRequest } from '../outbound/http-call.ts';
import type { Processor, ProcessorBooks } from '../payments/use/processor.ts';
import type { ProcessorContract, ProcessorSetting } from './contract.ts';
import type { EventSource, ReadEvent } from './event-body.ts';
import type { SignatureScheme } from './signatures/signature.ts';

/**
 * A processor's contract and its code. Each part of the code is imported dynamically at first use. CDK synthesis can
 * therefore read the registry, and a function loads only the code that it uses.
 */
export interface ProcessorDescriptor extends ProcessorContract {
  readonly connect: (configured: Configured) => Promise<ConnectedProcessor>;
  readonly signature: () => Promise<SignatureScheme>;
  /**
   * Loads the callback parser for a mode.
   * @returns a function that parses a body whose signature was verified with that mode's secret
   */
  readonly eventReader: (mode: Mode) => Promise<(body: Uint8Array) => ReadEvent>;
}

export interface ConnectedProcessor {
  readonly client: Processor;
  readonly books: ProcessorBooks;
}

interface Configured {
  readonly mode: Mode;
  /** Settings, keyed by their names in the contract. */
  readonly settings: Readonly<Record<string, string>>;
  /** Functions that read the current values, keyed by the secrets' names in the contract. */
  readonly secrets: Readonly<Record<string, () => Promise<string>>>;
  readonly clock: Clock;
  readonly send: SendRequest;
  readonly onBreakerOpened: () => void;
}

/**
 * The fields of `Configured` for one contract, and the processor's name. Each setting and each secret is a separate
 * property.
 */
export type Connection<Contract extends ProcessorContract> = SettingValues<Contract['settings']> & {
  readonly [Name in keyof Contract['secrets']]: () => Promise<string>;
} & Pick<Configured, 'mode' | 'clock' | 'send' | 'onBreakerOpened'> & {
    readonly name: string;
  };

type SettingValues<Settings extends Readonly<Record<string, ProcessorSetting>>> = {
  readonly [Name in keyof Settings as Settings[Name] extends { readonly optional: true } ? never : Name]: string;
} & {
  readonly [Name in keyof Settings as Settings[Name] extends { readonly optional: true } ? Name : never]?: string;
};

/** The parts of a processor's code, each loaded by a dynamic import. */
export interface ProcessorCode<Contract extends ProcessorContract, ClientOptions, BooksOptions> {
  readonly client: () => Promise<(options: ClientOptions) => Processor>;
  readonly books: () => Promise<(options: BooksOptions) => ProcessorBooks>;
  readonly signature: () => Promise<SignatureScheme<Contract['callbacks']['scheme']>>;
  readonly readEvent: () => Promise<(source: EventSource, body: Uint8Array) => ReadEvent>;
}

/** The names of the contract's settings and secrets that neither the client nor the books use. Must be `never`. */
type Unread<Contract extends ProcessorContract, ClientOptions, BooksOptions> = Exclude<
  keyof Contract['settings'] | keyof Contract['secrets'],
  keyof ClientOptions | keyof BooksOptions
>;

/**
 * Combines a contract with its code. The call compiles only under three conditions: the contract provides every option
 * of the client and the books; the client or the books use each setting and each secret; and the signature scheme has
 * the name in the contract.
 */
export function describeProcessor<const Contract extends ProcessorContract, ClientOptions, BooksOptions>(
  contract: Contract,
  code: ProcessorCode<Contract, ClientOptions, BooksOptions> &
    (Connection<Contract> extends ClientOptions & BooksOptions ? unknown : { readonly missing: never }) &
    ([Unread<Contract, ClientOptions, BooksOptions>] extends [never] ? unknown : { readonly unread: never }),
): ProcessorDescriptor {
  return {
    ...contract,
    connect: async ({ settings, secrets, ...tools }) => {
      const [client, books] = await Promise.all([code.client(), code.books()]);
      // The cast is safe: `readPaymentsConfig` has read these settings and secrets according to this contract.
      const connection = { ...settings, ...secrets, ...tools, name: contract.name } as ClientOptions & BooksOptions;
      return { client: { ...client(connection), source: contract.source }, books: books(connection) };
    },
    signature: code.signature,
    eventReader: async (mode) => {
      const read = await code.readEvent();
      return (body) => read({ processorName: contract.name, mode }, body);
    },
  };
}
