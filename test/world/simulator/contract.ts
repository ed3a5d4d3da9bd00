/** What the parts of the simulator know of each other: the running system, the acts upon it, and the oracles. Types only. */
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import type { SandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import type { LostOperation } from '../../../lambdas/resolving/use/close-remnants.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import type { SandboxInProcess } from '../sandbox-in-process.ts';
import type { TABLES } from '../tables.ts';

/** One thing that an actor does. It names objects by the id of the step that made them, so it is plain JSON. */
export interface Step {
  /** Stable when other steps are taken away: processes are named after it. */
  readonly id: number;
  /** Since the history began. */
  readonly atMs: number;
  readonly actor: string;
  readonly act: string;
  readonly [argument: string]: unknown;
}

export interface History {
  readonly seed: number;
  readonly profile: string;
  readonly steps: readonly Step[];
  /** Names of faults that do not happen: `<process>/<ordinal of the gate>`, as in `Fault.name`. */
  readonly muted: readonly string[];
}

/** One request of a client, answered or not. */
export interface ClientCall {
  /** The id of the step. */
  readonly step: number;
  readonly tenant: string;
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly sentAtMs: number;
  /** Undefined when the client got no answer, or none yet. The gateway's own 504 and 502 are answers. */
  answer?: ClientAnswer;
}

export interface ClientAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly atMs: number;
  /** The processors that no fault and no outage has kept from answering for an hour. @default none */
  readonly well?: readonly string[];
}

/** A metric that a function published. */
export interface Alarm {
  readonly metric: string;
  readonly atMs: number;
  readonly count: number;
  /** The payment or the order, if the log names it. */
  readonly about?: string;
  /** For example the job, or the vendor. */
  readonly dimensions: Readonly<Record<string, string>>;
}

export interface WebhookReceived {
  readonly endpointId: string;
  readonly eventId: string;
  readonly atMs: number;
  readonly body: string;
  readonly accepted: boolean;
}

export interface Published {
  readonly detailType: string;
  readonly detail: unknown;
  readonly atMs: number;
}

/** An event of a processor that was posted to the callbacks function, however often. */
export interface CallbackPosted {
  readonly processor: string;
  readonly chargeId: string;
  readonly firstAtMs: number;
  /** When it was answered with 2xx first. Unix milliseconds. @default never */
  readonly takenAtMs?: number;
}

/** What the shop did. */
export interface ShopAction {
  readonly kind: 'reserved' | 'committed' | 'released' | 'credited' | 'refused';
  /** Payonce's key of the call. */
  readonly key: string;
  /** The call's body. */
  readonly order: unknown;
  readonly atMs: number;
}

/** An e-mail that the mail server accepted. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly atMs: number;
}

/** A fault that happened at a gate. */
export interface Fault {
  /** Stable when other steps or faults are taken away. */
  readonly name: string;
  readonly kind: FaultKind;
  /** What the process was calling, for example `dynamodb TransactWriteCommand`. */
  readonly label: string;
  /** The function, or the actor, whose call it was. */
  readonly of: string;
  readonly atMs: number;
}

export type FaultKind =
  | 'crash_before'
  | 'crash_after'
  | 'throttle'
  | 'conflict'
  | 'ambiguous_applied'
  | 'ambiguous_lost'
  | 'slow';

/** A time of faults everywhere, or of an outage of one processor. */
export interface Trouble {
  /** The name of a processor or of another system; `all`, or `all` and the name of a service; or whose secret is wrong. */
  readonly of: string;
  readonly fromMs: number;
  /** @default it has not ended */
  untilMs?: number;
}

/** How often each kind of fault happens at a gate, from 0 to 1. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;

/** What a deployment is configured with. */
export interface Settings {
  /** The processor of payments that no rule matches: `sandbox` or `second`. */
  readonly defaultProcessor: string;
  readonly routes: readonly { readonly tenant?: string; readonly currency?: string; readonly processor: string }[];
  /** Whether runs of jobs come by the schedule, the executor and the signed route; else the worker gets their messages. */
  readonly cron: boolean;
  /** Each rate is multiplied by this while the fault can happen. 0 ends all faults. */
  readonly faults: FaultRates;
  /** Requests of operators about more than this wait for a second person, for so long. @default all take effect at once */
  readonly approvals?: { readonly aboveMinor: number; readonly lifetimeMs: number };
  /** E-mails to one recipient on one day, of one tenant and mode. */
  readonly emailsADay: number;
  /** The processes' clocks differ from the world's by at most this. */
  readonly clockSkewMs: number;
}

/** How an event reaches the function that takes it. */
export type RequestTransport = 'bus' | 'queue' | 'subject' | 'topic';

/** An event that asks for a payment, as its transport took it. */
export interface PaymentRequest {
  readonly via: RequestTransport;
  /** JSON. */
  readonly detail: string;
  readonly sentAtMs: number;
}

/** All lines of the archive. */
export type Archived = Omit<LinePage, 'next'>;

/**
 * What lasts for some time in the account: a service of AWS answers 5xx, or some of its answers are lost; a secret of processors is
 * wrong; the relay does not run.
 */
export type Mishap =
  | 'all dynamodb'
  | 'all bus'
  | 'all sqs'
  | 'all answers of sqs'
  | 'all tables'
  | 'secret of test'
  | 'secret of live'
  | 'relay';

/** What cannot take the events of a payment. */
export type Poisoned = 'bus' | 'views-projector' | 'webhook-fan-out';

/** A row of the Ledger that was changed by hand, and what came of it. */
export interface ChangeByHand {
  /** The payment or the order. */
  readonly id: string;
  readonly sort: string;
  readonly how: 'overwritten' | 'removed';
  /** The findings of the verification, each with the row that it names. */
  readonly found: readonly string[];
  /** How the putting back ended. */
  readonly putBack: string;
  /** The findings after it. */
  readonly left: readonly string[];
  readonly atMs: number;
}

/** Tables that were restored to a moment within a transaction. */
export interface RestoreSeen {
  /** When they were recovered. Unix milliseconds. */
  readonly atMs: number;
  /** The keys whose records the recovery removed. */
  readonly lost: readonly LostOperation[];
  /** The payments and orders that it could not read, or of which transitions are missing. */
  readonly named: readonly string[];
}

/** An execution that handled messages of a queue. */
export interface LongWait {
  readonly queue: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface MishapsSeen {
  /** Records of the Stream that were gone before their reader came. */
  readonly trimmed: number;
  /** Executions that handled messages which had waited for more than forty minutes. */
  readonly waits: readonly LongWait[];
  /** Calls that a processor refused because of their credential. */
  readonly refusedCredentials: number;
  readonly changesByHand: readonly ChangeByHand[];
  /** Whether events were refused for good. */
  readonly wasPoisoned: boolean;
  /** Whether rows are being changed by hand at this moment. */
  readonly isByHand: boolean;
  /** The bodies of the records that the relay has parked. */
  readonly parked: readonly string[];
  /** Those of records that were parked again by a redrive, after every fix. */
  readonly parkedAgain: readonly string[];
  /** Times whose outcomes were not published until they were too old for a redrive, after every fix. Unix milliseconds, the end exclusive. */
  readonly forgotten: readonly { readonly sinceMs: number; readonly untilMs: number }[];
}

/** What oracles read. */
export interface Observed {
  readonly settings: Pick<Settings, 'approvals' | 'emailsADay'>;
  readonly nowMs: number;
  /** All faults have ended, and forty days have passed. */
  readonly quiet: boolean;
  /** Undefined while there may be faults and outages. */
  readonly faultsEndedAtMs?: number;
  readonly database: MemoryDynamoDb;
  /** What the archive has at the end. Undefined before it, and without an archive. */
  readonly archived?: Archived;
  readonly tables: typeof TABLES;
  /** By name of the books: `sandbox`, `second`, and `live`, the second processor’s books of live mode. */
  readonly processors: Readonly<Record<string, SandboxInProcess>>;
  /** By name of the tenant, as in `Step.tenant` and `ClientCall.tenant`; `shop_live` is `shop` in live mode. */
  readonly tenants: Readonly<Record<string, SimulatedTenant>>;
  readonly calls: readonly ClientCall[];
  readonly alarms: readonly Alarm[];
  readonly published: readonly Published[];
  readonly callbacks: readonly CallbackPosted[];
  readonly webhooks: readonly WebhookReceived[];
  readonly shop: readonly ShopAction[];
  readonly mails: readonly Mail[];
  readonly faults: readonly Fault[];
  readonly troubles: readonly Trouble[];
  /** Errors that a handler threw to its caller, and lines logged as faults. */
  readonly reported: readonly { readonly of: string; readonly error: unknown; readonly atMs: number }[];
  readonly mishaps: MishapsSeen;
  readonly restores: readonly RestoreSeen[];
  /** Whether tables are lost, or restored and not yet recovered. */
  readonly isRestoring: boolean;
  /** The files of exports, by name. */
  readonly exports: ReadonlyMap<string, string>;
  /** Messages that are left, by name of the queue: task queues, consumers' queues, their dead letters and parking queues. */
  readonly queues: Readonly<Record<string, number>>;
  readonly requests: {
    /** What transports have taken, oldest first. */
    readonly taken: readonly PaymentRequest[];
    /** The bodies of those that wait for an operator. */
    readonly parked: readonly string[];
  };
  /** The most messages that were in a queue at a time, by name of the queue. */
  readonly crowds: Readonly<Record<string, number>>;
}

export interface SimulatedTenant {
  readonly tenantId: string;
  readonly mode: 'test' | 'live';
  /** Has every scope of a merchant. */
  readonly apiKey: string;
}

export interface ApiRequest {
  readonly step: number;
  readonly tenant: string;
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly prefer?: string;
  /** An operator with another key, of the same person, or another operator. @default merchant */
  readonly as?: 'merchant' | OperatorName;
  /** The client closes the connection; the call goes on. @default the gateway's 29 s */
  readonly patienceMs?: number;
}

/** Ada, Ada with another key, and Ben. */
export type OperatorName = 'operator' | 'operator_again' | 'approver';

/** What acts use. Nothing else is a source of time, chance or order. */
export interface RunningSystem extends Observed {
  /** Sends a request through the gateway. The promise ends with the answer, or when the client's patience ends. */
  api(request: ApiRequest): Promise<ClientCall>;
  readonly requests: Observed['requests'] & {
    /** Sends an event that asks for a payment. @returns false when the transport does not take it */
    take(via: RequestTransport, detail: string, name: string): boolean;
  };
  /** Called with each event that a processor has to tell. @default it is delivered at once, once */
  onCallback(take: (processor: string, event: SandboxEvent) => void): void;
  /** Called with what a processor does by itself later, for example the end of a pending charge. @default it is done then */
  onLater(take: (processor: string, afterMs: number, what: () => Promise<void>) => void): void;
  /** Signs the event with the processor's secret, now, and posts it to the callbacks function. @returns the status */
  callback(processor: string, event: SandboxEvent): Promise<number>;
  /** Work under way goes on in the old processes; new processes have the new settings. */
  deploy(settings: Partial<Settings>): void;
  readonly settings: Settings;
  runJob(id: string): Promise<void>;
  /** An earlier run of the job is under way for so long, and others wait for it. @returns whether none was under way yet */
  occupyJob(id: string, forMs: number): Promise<boolean>;
  /** Moves what is in a dead-letter or parking queue back to its queue. */
  redrive(queue: string): void;
  /** Redrives the dead letters of shop and mail, as `payonce dead-letters` does. */
  redriveDeadLetters(): Promise<void>;
  republish(fromMs: number, untilMs: number): Promise<void>;
  rebuildViews(): Promise<void>;
  /** Deletes the personal data of a payment or an order, as `payonce erase` does. */
  erase(id: string): Promise<void>;
  /** The processor is unreachable, or reachable again. */
  processorUp(processor: string, isUp: boolean): void;
  /** The shop, the mail server or the bus is unreachable, or reachable again. */
  partyUp(party: 'stock' | 'referrals' | 'mail' | 'bus', isUp: boolean): void;
  mishap(what: Mishap, isOver: boolean): void;
  /**
   * The tables are lost within one of the next transactions, and recovered ten minutes later.
   *
   * @param nth which of those that write to several tables, from 1 on
   * @param name unique, and stable when other steps are taken away
   */
  loseTables(nth: number, name: string): void;
  /** Nothing that names the payment is taken there, until it is fixed. */
  poison(paymentId: string, by: Poisoned, isFixed: boolean): void;
  /** Somebody changes a row of the Ledger, and an operator puts it back. @param share which of the rows, from 0 up to, not including, 1 */
  changeByHand(id: string, how: ChangeByHand['how'], share: number): Promise<string>;
  /** The shop does what it is asked, and its answers are lost; or they arrive again. */
  setPartyAnswers(party: 'stock' | 'referrals', areAnswersReceived: boolean): void;
  /** How an endpoint's receiver answers from now on. @default 200 */
  /** @param afterMs how long the receiver takes @default up to two seconds */
  endpointAnswers(url: string, status: number | 'timeout', afterMs?: number): void;
  /** Makes the bank, the payer or a user of the processor's dashboard act, as one process with the name of the step. */
  inside<Result>(processor: string, act: (inside: SandboxInProcess['inside']) => Promise<Result>): Promise<Result>;
  /** Does it at that time. @param name stable when other steps are taken away, for example `step 3` */
  at(atMs: number, name: string, what: () => void | Promise<void>): void;
  sleep(ms: number): Promise<void>;
  /** From 0 up to, not including, 1: `fractionOf` the seed and the label. */
  decide(label: string): number;
}

export interface Violation {
  /** The oracle's name, for example `I9 processor and books`. */
  readonly oracle: string;
  readonly what: string;
  /** A payment, order, endpoint or key. */
  readonly about?: string;
}
