/** Types that the parts of the simulator share: the running system, its acts, and the oracles. */
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import type { SandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import type { LostOperation } from '../../../lambdas/resolving/use/close-remnants.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import type { SandboxInProcess } from '../sandbox-in-process.ts';
import type { TABLES } from '../tables.ts';

/** Action of one actor, as plain JSON. A step names an object by the id of the step that created the object. */
export interface Step {
  /** Names of processes contain the id, so it stays the same when other steps are removed. */
  readonly id: number;
  /** In milliseconds since the history began. */
  readonly atMs: number;
  readonly actor: string;
  readonly act: string;
  readonly [argument: string]: unknown;
}

export interface History {
  readonly seed: number;
  readonly profile: string;
  readonly steps: readonly Step[];
  /** Names of suppressed faults, as in `Fault.name`. */
  readonly muted: readonly string[];
}

export interface ClientCall {
  readonly step: number;
  readonly tenant: string;
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly sentAtMs: number;
  /** Undefined if no response arrived. The gateway's own 502 and 504 count as responses. */
  answer?: ClientAnswer;
}

export interface ClientAnswer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly atMs: number;
  /**
   * Names of the processors that had no fault or outage in the hour before the response.
   * @default none
   */
  readonly well?: readonly string[];
}

export interface Alarm {
  readonly metric: string;
  readonly atMs: number;
  readonly count: number;
  readonly about?: string;
  /** For example the job or the vendor. */
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

/** Processor event that was posted to the callbacks function at least once. */
export interface CallbackPosted {
  readonly processor: string;
  readonly chargeId: string;
  readonly firstAtMs: number;
  /** Time of the first 2xx response, in Unix milliseconds; undefined until then. */
  readonly takenAtMs?: number;
}

export interface ShopAction {
  readonly kind: 'reserved' | 'committed' | 'released' | 'credited' | 'refused';
  /** Idempotency key of Payonce's request. */
  readonly key: string;
  /** Request body. */
  readonly order: unknown;
  readonly atMs: number;
}

/** E-mail that the mail server accepted. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly atMs: number;
}

export interface Fault {
  /** Name of the fault, which stays the same when other steps or faults are removed. */
  readonly name: string;
  readonly kind: FaultKind;
  /** For example `dynamodb TransactWriteCommand`. */
  readonly label: string;
  /** `account` for a fault of the simulated AWS account. */
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

export interface Trouble {
  /** A processor, another party, everything (`all`), or the name of a {@link Mishap}. */
  readonly of: string;
  readonly fromMs: number;
  /** Undefined while it lasts. */
  untilMs?: number;
}

/** From 0 to 1, per call. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;

export interface Settings {
  /** Processor of payments that no route matches: `sandbox` or `second`. */
  readonly defaultProcessor: string;
  readonly routes: readonly { readonly tenant?: string; readonly currency?: string; readonly processor: string }[];
  /**
   * Whether jobs run through the schedule, the executor and the signed route. Otherwise the worker receives the
   * messages of the jobs directly.
   */
  readonly cron: boolean;
  /** Empty if no faults are injected. */
  readonly faults: FaultRates;
  /**
   * Limit above which an operator's request needs a second person's approval, and the time after which the request
   * expires.
   *
   * @default every request takes effect immediately
   */
  readonly approvals?: { readonly aboveMinor: number; readonly lifetimeMs: number };
  /** To one recipient, per tenant and mode. */
  readonly emailsADay: number;
  /** Abilities that the processors lack, as in the setting `processorWithout`. @default they have all abilities */
  readonly without?: string;
  readonly clockSkewMs: number;
}

export type RequestTransport = 'bus' | 'queue' | 'subject' | 'topic';

export interface PaymentRequest {
  readonly via: RequestTransport;
  /** JSON text. */
  readonly detail: string;
  readonly sentAtMs: number;
}

/** Without paging. */
export type Archived = Omit<LinePage, 'next'>;

/**
 * Problem of the AWS account or of a processor that lasts for some time: an AWS service responds with 5xx or loses
 * responses, the tables are lost, a processor secret is wrong, a processor does not know its charges or responds late
 * or never, or the relay is stopped.
 */
export type Mishap =
  | 'all dynamodb'
  | 'all bus'
  | 'all sqs'
  | 'all answers of sqs'
  | 'all tables'
  | 'secret of test'
  | 'secret of live'
  | 'charges of sandbox'
  | 'charges of second'
  | 'charges of live'
  | SilentCalls
  | 'relay';

/**
 * Calls to a processor that hang until the caller's timeout. `requests`: all calls, without effect. `answers`: all
 * calls, with their effect. `reads`: reads, except health checks. `writes`: writes, with their effect. `lost writes`:
 * writes, without effect. Calls in `slow calls` get a response after some seconds, if the caller still waits.
 */
export type SilentCalls = `${'requests' | 'answers' | 'reads' | 'lost writes' | 'writes' | 'slow calls'} of ${string}`;

/** Can be made to reject the events of a payment. */
export type Poisoned = 'bus' | 'views-projector' | 'webhook-fan-out';

export interface ChangeByHand {
  /** Id of the payment or order. */
  readonly id: string;
  readonly sort: string;
  readonly how: 'overwritten' | 'removed';
  /** Findings of the verification after the change, each with the row that the finding names. */
  readonly found: readonly string[];
  /** Result of restoring the row. */
  readonly putBack: string;
  /** Verification findings after the repair. */
  readonly left: readonly string[];
  readonly atMs: number;
}

/** Recovery of tables that were restored to a point within a transaction. */
export interface RestoreSeen {
  /** In Unix milliseconds. */
  readonly atMs: number;
  /** Operations whose idempotency records the recovery removed. */
  readonly lost: readonly LostOperation[];
  /**
   * Payments and orders that an operator must check after the recovery, for example because they lack transitions or
   * cannot be read.
   */
  readonly named: readonly string[];
}

/**
 * Function execution that handled a queue's messages after at least one message had waited for more than forty minutes.
 */
export interface LongWait {
  readonly queue: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface MishapsSeen {
  /** Number of Stream records that expired before their reader read them. */
  readonly trimmed: number;
  readonly waits: readonly LongWait[];
  /** Number of calls that a processor rejected because of a wrong credential. */
  readonly refusedCredentials: number;
  readonly changesByHand: readonly ChangeByHand[];
  /** Whether a bug made the bus or a consumer reject events at some time in the history. */
  readonly wasPoisoned: boolean;
  readonly isByHand: boolean;
  readonly parked: readonly string[];
  /** Bodies of records that a redrive parked a second time although all bugs were fixed. */
  readonly parkedAgain: readonly string[];
  /**
   * Time ranges of parked records, in Unix milliseconds with an exclusive end, that were too old to be redriven when
   * all bugs were fixed.
   */
  readonly forgotten: readonly { readonly sinceMs: number; readonly untilMs: number }[];
}

export interface Observed {
  readonly settings: Pick<Settings, 'approvals' | 'emailsADay' | 'without'>;
  readonly nowMs: number;
  /** Whether all faults ended at least forty days ago. */
  readonly quiet: boolean;
  /** Time when all faults and outages ended. Undefined before that. */
  readonly faultsEndedAtMs?: number;
  readonly database: MemoryDynamoDb;
  /** Archive lines at the end of the history; undefined before the end, and without an archive. */
  readonly archived?: Archived;
  readonly tables: typeof TABLES;
  /**
   * Processors by the name of their books: `sandbox`, `second`, and `live` (the second processor’s live-mode books).
   */
  readonly processors: Readonly<Record<string, SandboxInProcess>>;
  /** As in `Step.tenant` and `ClientCall.tenant`; `shop_live` is `shop` in live mode. */
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
  /** Errors that handlers threw, and faults that they logged. */
  readonly reported: readonly { readonly of: string; readonly error: unknown; readonly atMs: number }[];
  readonly mishaps: MishapsSeen;
  readonly restores: readonly RestoreSeen[];
  /** Whether tables are lost, or are restored but not yet recovered. */
  readonly isRestoring: boolean;
  /** By file name. */
  readonly exports: ReadonlyMap<string, string>;
  /** Task, consumer, dead-letter and parking queues. */
  readonly queues: Readonly<Record<string, number>>;
  readonly requests: {
    /** Oldest first. */
    readonly taken: readonly PaymentRequest[];
    readonly parked: readonly string[];
  };
  readonly crowds: Readonly<Record<string, number>>;
}

export interface SimulatedTenant {
  readonly tenantId: string;
  readonly mode: 'test' | 'live';
  /** Has every merchant scope. */
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
  /** @default merchant */
  readonly as?: 'merchant' | OperatorName;
  /**
   * Time after which the client closes the connection, in milliseconds. The server still handles the request.
   *
   * @default the gateway's 29 s
   */
  readonly patienceMs?: number;
}

/** Operator keys: Ada's first, Ada's second, Ben's, and Cleo's. */
export type OperatorName = 'operator' | 'operator_again' | 'approver' | 'second_approver';

/** The only source of time, randomness and order for acts. */
export interface RunningSystem extends Observed {
  /** Resolves when the response arrives or the client closes the connection. */
  api(request: ApiRequest): Promise<ClientCall>;
  readonly requests: Observed['requests'] & {
    /** @returns false when the transport does not accept the event */
    take(via: RequestTransport, detail: string, name: string): boolean;
  };
  /** @default each event is delivered immediately, exactly once */
  onCallback(take: (processor: string, event: SandboxEvent) => void): void;
  /**
   * Sets a scheduler for delayed processor actions, for example completing a pending charge.
   *
   * @default each action happens after its delay
   */
  onLater(take: (processor: string, afterMs: number, what: () => Promise<void>) => void): void;
  /** @returns the response's HTTP status */
  callback(processor: string, event: SandboxEvent): Promise<number>;
  /** Deploys new settings. New processes use them, while work in progress continues in the old processes. */
  deploy(settings: Partial<Settings>): void;
  readonly settings: Settings;
  runJob(id: string): Promise<void>;
  /** @returns false when a run is already in progress */
  occupyJob(id: string, forMs: number): Promise<boolean>;
  /**
   * Moves the messages of a dead-letter queue back to their source queue, or repeats the work that the relay has
   * parked.
   */
  redrive(queue: string): void;
  /** As `payonce dead-letters` does. */
  redriveDeadLetters(): Promise<void>;
  republish(fromMs: number, untilMs: number): Promise<void>;
  rebuildViews(): Promise<void>;
  /** As `payonce erase` does. */
  erase(id: string): Promise<void>;
  processorUp(processor: string, isUp: boolean): void;
  partyUp(party: 'stock' | 'referrals' | 'mail' | 'bus', isUp: boolean): void;
  mishap(what: Mishap, isOver: boolean): void;
  /**
   * Loses the tables in the middle of an upcoming transaction. Restores and recovers them ten minutes later.
   *
   * @param nth selects the transaction: 1 is the next one. Only transactions that write to several tables are counted
   * or, if `choice` is given, transactions that write several rows
   * @param name unique name, which stays the same when other steps are removed
   * @param choice selects which rows of the transaction the restored tables contain
   * @default each restored table contains all its rows of the transaction, or none
   */
  loseTables(nth: number, name: string, choice?: number): void;
  /** Introduces or fixes a bug that makes the bus or a consumer reject everything that names the payment. */
  poison(paymentId: string, by: Poisoned, isFixed: boolean): void;
  /** @param share selects the row: a number from 0 up to, but not including, 1 */
  changeByHand(id: string, how: ChangeByHand['how'], share: number): Promise<string>;
  /** The shop performs the requests in both cases. */
  setPartyAnswers(party: 'stock' | 'referrals', areAnswersReceived: boolean): void;
  /**
   * @param afterMs time until the response
   *
   * @default up to two seconds
   */
  endpointAnswers(url: string, status: number | 'timeout', afterMs?: number): void;
  /** The process is named after the step. */
  inside<Result>(processor: string, act: (inside: SandboxInProcess['inside']) => Promise<Result>): Promise<Result>;
  /** @param name stays the same when other steps are removed, for example `step 3` */
  at(atMs: number, name: string, what: () => void | Promise<void>): void;
  sleep(ms: number): Promise<void>;
  /** Returns a deterministic number from 0 up to, but not including, 1. */
  decide(label: string): number;
}

export interface Violation {
  /** For example `I9 processor and books`. */
  readonly oracle: string;
  readonly what: string;
  /** Id of the payment, order or endpoint, or the idempotency key. */
  readonly about?: string;
}
