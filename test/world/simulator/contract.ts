/** Types that the parts of the simulator share: the running system, its acts, and the oracles. */
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import type { SandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import type { LostOperation } from '../../../lambdas/resolving/use/close-remnants.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import type { SandboxInProcess } from '../sandbox-in-process.ts';
import type { TABLES } from '../tables.ts';

/** Action of one actor, as plain JSON. A step names objects by the id of the step that made them. */
export interface Step {
  /** Stable when other steps are removed, because processes are named after the id. */
  readonly id: number;
  /** Time since the history began. Milliseconds. */
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

/** Request of a client, answered or not. */
export interface ClientCall {
  /** Id of the step. */
  readonly step: number;
  readonly tenant: string;
  readonly method: string;
  readonly path: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly sentAtMs: number;
  /** Answer to the client; undefined without one. The gateway's own 504 and 502 also count as answers. */
  answer?: ClientAnswer;
}

export interface ClientAnswer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly atMs: number;
  /** Processors without a fault or an outage during the last hour. @default none */
  readonly well?: readonly string[];
}

/** Metric that a function published. */
export interface Alarm {
  readonly metric: string;
  readonly atMs: number;
  readonly count: number;
  /** Payment or order that the log line names, if any. */
  readonly about?: string;
  /** Dimensions of the metric, for example the job or the vendor. */
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

/** Event of a processor that was posted to the callbacks function once or several times. */
export interface CallbackPosted {
  readonly processor: string;
  readonly chargeId: string;
  readonly firstAtMs: number;
  /** Time of the first 2xx answer. Unix milliseconds. @default no 2xx answer yet */
  readonly takenAtMs?: number;
}

/** Action of the shop. */
export interface ShopAction {
  readonly kind: 'reserved' | 'committed' | 'released' | 'credited' | 'refused';
  /** Idempotency key of Payonce's call. */
  readonly key: string;
  /** Body of the call. */
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

/** Fault that happened at a gate. */
export interface Fault {
  /** Stable when other steps or faults are removed. */
  readonly name: string;
  readonly kind: FaultKind;
  /** Call of the process, for example `dynamodb TransactWriteCommand`. */
  readonly label: string;
  /** Function or actor that made the call. */
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

/** Time span of faults, or of an outage. */
export interface Trouble {
  /** Name of the affected system: a processor, another party, `all`, `all` with the name of a service, or a secret. */
  readonly of: string;
  readonly fromMs: number;
  /** End of the span. @default still in progress */
  untilMs?: number;
}

/** Probability of each kind of fault at a gate, from 0 to 1. */
export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;

/** Configuration of a deployment. */
export interface Settings {
  /** Processor of payments that no route matches: `sandbox` or `second`. */
  readonly defaultProcessor: string;
  readonly routes: readonly { readonly tenant?: string; readonly currency?: string; readonly processor: string }[];
  /**
   * Whether jobs run through the schedule, the executor and the signed route. Otherwise the worker receives their
   * messages directly.
   */
  readonly cron: boolean;
  /** Fault rates of the calls. Empty when no fault can happen. */
  readonly faults: FaultRates;
  /**
   * Limit above which requests of operators wait for a second person, and the maximum wait.
   *
   * @default all requests take effect immediately
   */
  readonly approvals?: { readonly aboveMinor: number; readonly lifetimeMs: number };
  /** Maximum number of e-mails to one recipient on one day, for each tenant and mode. */
  readonly emailsADay: number;
  /** Largest difference between a process's clock and the simulated time. Milliseconds. */
  readonly clockSkewMs: number;
}

/** Transport of an event to the function that handles it. */
export type RequestTransport = 'bus' | 'queue' | 'subject' | 'topic';

/** Event that requests a payment, as accepted by its transport. */
export interface PaymentRequest {
  readonly via: RequestTransport;
  /** JSON. */
  readonly detail: string;
  readonly sentAtMs: number;
}

/** All lines of the archive. */
export type Archived = Omit<LinePage, 'next'>;

/**
 * Problem of the account that lasts some time: a service of AWS answers 5xx or loses some answers, a processor secret
 * is wrong, or the relay is stopped.
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

/** Consumer that rejects the events of a payment. */
export type Poisoned = 'bus' | 'views-projector' | 'webhook-fan-out';

/** Manual change of a row of the Ledger, with its detection and repair. */
export interface ChangeByHand {
  /** Payment or order. */
  readonly id: string;
  readonly sort: string;
  readonly how: 'overwritten' | 'removed';
  /** Findings of the verification after the change, each with the row that it names. */
  readonly found: readonly string[];
  /** Result of restoring the row. */
  readonly putBack: string;
  /** Findings of the verification after the repair. */
  readonly left: readonly string[];
  readonly atMs: number;
}

/** Recovery of tables that were restored to a moment within a transaction. */
export interface RestoreSeen {
  /** Time of the recovery. Unix milliseconds. */
  readonly atMs: number;
  /** Operations whose idempotency records the recovery removed. */
  readonly lost: readonly LostOperation[];
  /** Payments and orders that the recovery could not read, or that lack transitions. */
  readonly named: readonly string[];
}

/** Execution that handled messages of a queue after a long wait. */
export interface LongWait {
  readonly queue: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface MishapsSeen {
  /** Number of Stream records that expired before their reader read them. */
  readonly trimmed: number;
  /** Executions that handled messages after a wait of more than forty minutes. */
  readonly waits: readonly LongWait[];
  /** Number of calls that a processor rejected because of their credential. */
  readonly refusedCredentials: number;
  readonly changesByHand: readonly ChangeByHand[];
  /** Whether a consumer has rejected events permanently. */
  readonly wasPoisoned: boolean;
  /** Whether rows are being changed by hand at this moment. */
  readonly isByHand: boolean;
  /** Bodies of the records that the relay has parked. */
  readonly parked: readonly string[];
  /** Bodies of records that a redrive parked a second time, after every fix. */
  readonly parkedAgain: readonly string[];
  /**
   * Time ranges whose outcomes were published too late for a redrive, after every fix. Unix milliseconds, the end
   * exclusive.
   */
  readonly forgotten: readonly { readonly sinceMs: number; readonly untilMs: number }[];
}

/** State of the simulated system that oracles read. */
export interface Observed {
  readonly settings: Pick<Settings, 'approvals' | 'emailsADay'>;
  readonly nowMs: number;
  /** Whether all faults have ended and forty days have passed. */
  readonly quiet: boolean;
  /** Time when all faults and outages ended. Undefined before that. */
  readonly faultsEndedAtMs?: number;
  readonly database: MemoryDynamoDb;
  /** Lines of the archive at the end of the history. Undefined earlier, and without an archive. */
  readonly archived?: Archived;
  readonly tables: typeof TABLES;
  /**
   * Processors by name of the books: `sandbox`, `second`, and `live`, which are the second processor’s books of live
   * mode.
   */
  readonly processors: Readonly<Record<string, SandboxInProcess>>;
  /** Tenants by name, as in `Step.tenant` and `ClientCall.tenant`; `shop_live` is `shop` in live mode. */
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
  /** Errors that handlers threw, and log lines about faults. */
  readonly reported: readonly { readonly of: string; readonly error: unknown; readonly atMs: number }[];
  readonly mishaps: MishapsSeen;
  readonly restores: readonly RestoreSeen[];
  /** Whether tables are lost, or restored and not yet recovered. */
  readonly isRestoring: boolean;
  /** Texts of the export files, by name. */
  readonly exports: ReadonlyMap<string, string>;
  /**
   * Number of remaining messages, by queue: task queues, queues of consumers, dead-letter queues and parking queues.
   */
  readonly queues: Readonly<Record<string, number>>;
  readonly requests: {
    /** Requests that transports have accepted, oldest first. */
    readonly taken: readonly PaymentRequest[];
    /** Bodies of the requests that wait for an operator. */
    readonly parked: readonly string[];
  };
  /** Largest number of messages that a queue has had at a time, by queue. */
  readonly crowds: Readonly<Record<string, number>>;
}

export interface SimulatedTenant {
  readonly tenantId: string;
  readonly mode: 'test' | 'live';
  /** API key with every merchant scope. */
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
  /** Caller: the merchant or an operator. @default merchant */
  readonly as?: 'merchant' | OperatorName;
  /**
   * Time after which the client closes the connection. The call continues. Milliseconds.
   *
   * @default the gateway's 29 s
   */
  readonly patienceMs?: number;
}

/** Ada, Ada with another key, and Ben. */
export type OperatorName = 'operator' | 'operator_again' | 'approver';

/** System that acts use. It is the only source of time, randomness and order. */
export interface RunningSystem extends Observed {
  /** Sends a request through the gateway. Resolves with the answer, or when the client closes the connection. */
  api(request: ApiRequest): Promise<ClientCall>;
  readonly requests: Observed['requests'] & {
    /** Sends an event that requests a payment. @returns false when the transport does not accept the event */
    take(via: RequestTransport, detail: string, name: string): boolean;
  };
  /** Sets the receiver of the events that processors report. @default each event is delivered once, immediately */
  onCallback(take: (processor: string, event: SandboxEvent) => void): void;
  /**
   * Sets the scheduler of actions that a processor takes later, for example the end of a pending charge.
   *
   * @default each action happens at its time
   */
  onLater(take: (processor: string, afterMs: number, what: () => Promise<void>) => void): void;
  /**
   * Signs the event with the processor's secret at the current time, and posts it to the callbacks function.
   *
   * @returns the status
   */
  callback(processor: string, event: SandboxEvent): Promise<number>;
  /** Deploys new settings for new processes. Work in progress continues in the old processes. */
  deploy(settings: Partial<Settings>): void;
  readonly settings: Settings;
  runJob(id: string): Promise<void>;
  /**
   * Occupies the job with an earlier run for this time, so that other runs wait.
   *
   * @returns false when a run is already in progress
   */
  occupyJob(id: string, forMs: number): Promise<boolean>;
  /** Moves the messages of a dead-letter or parking queue back to their queue. */
  redrive(queue: string): void;
  /** Redrives the dead letters of shop and mail, as `payonce dead-letters` does. */
  redriveDeadLetters(): Promise<void>;
  republish(fromMs: number, untilMs: number): Promise<void>;
  rebuildViews(): Promise<void>;
  /** Deletes the personal data of a payment or an order, as `payonce erase` does. */
  erase(id: string): Promise<void>;
  /** Makes the processor unreachable or reachable. */
  processorUp(processor: string, isUp: boolean): void;
  /** Makes the shop, the mail server or the bus unreachable or reachable. */
  partyUp(party: 'stock' | 'referrals' | 'mail' | 'bus', isUp: boolean): void;
  mishap(what: Mishap, isOver: boolean): void;
  /**
   * Loses the tables within one of the next transactions, and recovers them ten minutes later.
   *
   * @param nth number of the transaction among those that write to several tables, from 1 on
   * @param name unique, and stable when other steps are removed
   */
  loseTables(nth: number, name: string): void;
  /** Makes a consumer reject everything that names the payment, until the fix. */
  poison(paymentId: string, by: Poisoned, isFixed: boolean): void;
  /**
   * Changes a row of the Ledger by hand and lets an operator restore the row.
   *
   * @param share selects the row, from 0 up to, not including, 1
   */
  changeByHand(id: string, how: ChangeByHand['how'], share: number): Promise<string>;
  /** Makes the answers of the shop get lost or arrive. The shop acts in both cases. */
  setPartyAnswers(party: 'stock' | 'referrals', areAnswersReceived: boolean): void;
  /** Sets how a receiver answers from now on. @param afterMs duration. Milliseconds @default up to two seconds */
  endpointAnswers(url: string, status: number | 'timeout', afterMs?: number): void;
  /** Acts at a processor as its bank, a payer or a dashboard user, in one process with the name of the step. */
  inside<Result>(processor: string, act: (inside: SandboxInProcess['inside']) => Promise<Result>): Promise<Result>;
  /** Schedules an action. @param name stable when other steps are removed, for example `step 3` */
  at(atMs: number, name: string, what: () => void | Promise<void>): void;
  sleep(ms: number): Promise<void>;
  /** Returns a number from 0 up to, not including, 1: `fractionOf` the seed and the label. */
  decide(label: string): number;
}

export interface Violation {
  /** Name of the oracle, for example `I9 processor and books`. */
  readonly oracle: string;
  readonly what: string;
  /** Payment, order, endpoint or key. */
  readonly about?: string;
}
