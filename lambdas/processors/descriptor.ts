import type { Clock } from '../kernel/world.ts';
import type { Processor, ProcessorBooks } from '../payments/use/processor.ts';
import type { ProcessorContract, ProcessorSetting } from './contract.ts';
import type { ReadEvent } from './event-body.ts';
import type { SignatureScheme } from './signatures/signature.ts';

/**
 * All that Payonce knows of a processor: its contract, and its code, each part of which is loaded when it is first needed. So the
 * list of them can be read at synth, and a function does not start with code that it does not call.
 */
export interface ProcessorDescriptor extends ProcessorContract {
  readonly connect: (configured: Configured) => Promise<ConnectedProcessor>;
  /** Its own, or the general one that its contract names. */
  readonly signature: () => Promise<SignatureScheme>;
  /** @returns what reads a body whose signature is good */
  readonly eventReader: () => Promise<(body: Uint8Array) => ReadEvent>;
}

export interface ConnectedProcessor {
  readonly client: Processor;
  readonly books: ProcessorBooks;
}

/** What a client and its books are made with. */
interface Configured {
  /** By their names in the contract. */
  readonly settings: Readonly<Record<string, string>>;
  /** Each as it stands now, by its name in the contract. */
  readonly secrets: Readonly<Record<string, () => Promise<string>>>;
  readonly clock: Clock;
  /** Told each time that the processor is left alone for a while. */
  readonly onBreakerOpened: () => void;
}

/** The same for one contract: each setting and each secret under its name. */
export type Connection<Contract extends ProcessorContract> = SettingValues<Contract['settings']> & {
  readonly [Name in keyof Contract['secrets']]: () => Promise<string>;
} & Pick<Configured, 'clock' | 'onBreakerOpened'>;

type SettingValues<Settings extends Readonly<Record<string, ProcessorSetting>>> = {
  readonly [Name in keyof Settings as Settings[Name] extends { readonly optional: true } ? never : Name]: string;
} & {
  readonly [Name in keyof Settings as Settings[Name] extends { readonly optional: true } ? Name : never]?: string;
};

/** The parts of a processor's code; each is a dynamic import. */
export interface ProcessorCode<Contract extends ProcessorContract, ClientOptions, BooksOptions> {
  readonly client: () => Promise<(options: ClientOptions) => Processor>;
  readonly books: () => Promise<(options: BooksOptions) => ProcessorBooks>;
  readonly signature: () => Promise<SignatureScheme<Contract['callbacks']['scheme']>>;
  readonly readEvent: () => Promise<(processorName: string, body: Uint8Array) => ReadEvent>;
}

/** What the contract offers and neither the client nor the books take: it must be nothing. */
type Unread<Contract extends ProcessorContract, ClientOptions, BooksOptions> = Exclude<
  keyof Contract['settings'] | keyof Contract['secrets'],
  keyof ClientOptions | keyof BooksOptions
>;

/**
 * Puts a processor together. It compiles when the client and the books get all that they ask for, when one of them takes each
 * setting and each secret, and when there is a signature scheme of the name that the contract says.
 */
export function describeProcessor<const Contract extends ProcessorContract, ClientOptions, BooksOptions>(
  contract: Contract,
  code: ProcessorCode<Contract, ClientOptions, BooksOptions> &
    (Connection<Contract> extends ClientOptions & BooksOptions ? unknown : { readonly missing: never }) &
    ([Unread<Contract, ClientOptions, BooksOptions>] extends [never] ? unknown : { readonly unread: never }),
): ProcessorDescriptor {
  return {
    ...contract,
    connect: async ({ settings, secrets, clock, onBreakerOpened }) => {
      const [client, books] = await Promise.all([code.client(), code.books()]);
      // `readProcessors` has read the settings and the secrets by this very contract.
      const connection = { ...settings, ...secrets, clock, onBreakerOpened } as ClientOptions & BooksOptions;
      return { client: { ...client(connection), source: contract.source }, books: books(connection) };
    },
    signature: code.signature,
    eventReader: async () => {
      const read = await code.readEvent();
      return (body) => read(contract.name, body);
    },
  };
}
