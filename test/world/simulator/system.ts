import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { GatewayEvent } from '../../../lambdas/http/gateway-request.ts';
import { jobEntry } from '../../../lambdas/jobs/contract/jobs.ts';
import { acceptedRun, runIdOf } from '../../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { runRow } from '../../../lambdas/jobs/store/job-items.ts';
import { jobMessageText } from '../../../lambdas/jobs/use/job-message.ts';
import { RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import { ROW_IS_NEW } from '../../../lambdas/once/store/transact-items.ts';
import { PartiesEnvironment } from '../../../lambdas/orders/contract.ts';
import type { SendRequest } from '../../../lambdas/outbound/http-call.ts';
import type { Database } from '../../../lambdas/postgres/database.ts';
import { type SandboxEvent, SIGNATURE_HEADER } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import { parseBook } from '../../../lambdas/webhooks/store/webhook-items.ts';
import { sign } from '../../../sandbox/signature.ts';
import { gatewayEvent } from '../gateway-event.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../sandbox-in-process.ts';
import { TABLES } from '../tables.ts';
import { Account } from './account.ts';
import { OPERATORS, registerTenant, tenantNamed } from './callers.ts';
import type {
  Alarm,
  ApiRequest,
  CallbackPosted,
  ClientCall,
  Mishap,
  Observed,
  RunningSystem,
  Settings,
  SimulatedTenant,
  Trouble,
} from './contract.ts';
import { deploymentOf } from './deployment.ts';
import { Address, Secret, secretOf, VARIABLES } from './functions.ts';
import { JobClock } from './job-clock.ts';
import { Mishaps } from './mishaps.ts';
import { eraseNamed, operatorIn, rebuildAllViews } from './operator.ts';
import { Parties, Receivers, unreachable } from './parties.ts';
import { secretText } from './platform.ts';
import { BOOKS, isAbout, NOT_FOUND, ONE_CHARGE, UNAUTHORIZED } from './processors.ts';
import { RequestTransports } from './request-transports.ts';
import { ANSWERS_LOST, BROKEN, GONE, type Process, Simulation } from './simulation.ts';
import { TableRestores } from './table-restore.ts';

const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 86_400_000;
/**
 * Maximum clock difference between two processes at which a scheduled job's credential is accepted, in milliseconds.
 */
const CREDENTIAL_TOLERANCE_MS = 30_000;
/** Time within which every circuit breaker closes after an outage, in milliseconds. */
const WELL_MS = 3_600_000;
/**
 * Share of days on which expired rows are deleted. DynamoDB deletes expired rows within a few days (Amazon DynamoDB
 * developer guide, "Time to live").
 */
const EXPIRY_SHARE = 0.5;
const FIRST_SETTINGS: Settings = {
  defaultProcessor: 'sandbox',
  routes: [],
  cron: false,
  faults: {},
  clockSkewMs: 0,
  emailsADay: Number(VARIABLES[PartiesEnvironment.emailsPerRecipient]),
};
/** Maximum duration of a recovery, in milliseconds. */
const RECOVERY_MS = 60_000;
const MAX_PAGES = 50;
const MAX_DEAD_LETTERS = 100;
const WRONG = [
  ['secret of test', secretOf('test')],
  ['secret of live', secretOf('live')],
] as const satisfies readonly (readonly [Mishap, string])[];

interface Call extends ClientCall {
  answer?: NonNullable<ClientCall['answer']>;
}

/**
 * Whole simulated system, on one simulated clock: the deployed functions, the processors, the shop, the mail server and
 * the webhook receivers.
 */
export class SimulatedSystem implements RunningSystem {
  readonly simulation: Simulation;
  readonly account: Account;
  readonly tables = TABLES;
  readonly processors: Readonly<Record<string, SandboxInProcess>>;
  readonly tenants: Readonly<Record<string, SimulatedTenant>>;
  readonly calls: Call[] = [];
  readonly alarms: Alarm[] = [];
  readonly requests: RequestTransports;
  readonly mishaps: Mishaps;
  readonly #restores: TableRestores;
  readonly reported: { readonly of: string; readonly error: unknown; readonly atMs: number }[] = [];
  quiet = false;
  faultsEndedAtMs?: number;
  archived?: NonNullable<Observed['archived']>;
  #jobs: JobClock | undefined;
  settings: Settings = FIRST_SETTINGS;
  readonly #callbacks = new Map<string, { -readonly [Name in keyof CallbackPosted]: CallbackPosted[Name] }>();
  readonly troubles: Trouble[] = [];
  /** A system recovers when the last of its outages ends. */
  readonly #outages = new Map<string, number>();
  readonly #parties: Parties;
  readonly #receivers: Receivers;
  #take: Parameters<RunningSystem['onCallback']>[0] = (processor, event) => this.#callBack(processor, event);
  #later: Parameters<RunningSystem['onLater']>[0] = (_processor, afterMs, what) =>
    this.at(this.nowMs + afterMs, this.simulation.named('later'), what);

  private constructor(
    simulation: Simulation,
    tenants: Readonly<Record<string, SimulatedTenant>>,
    postgres: Database | undefined,
  ) {
    this.simulation = simulation;
    this.tenants = tenants;
    this.processors = {
      sandbox: this.#processor('sandbox'),
      second: this.#processor('second'),
      live: this.#processor('live'),
    };
    const party = createSandboxInProcess({
      clock: simulation.calledClock,
      newId: (prefix) => `${prefix}${simulation.process.token().replaceAll('-', '_')}`,
    });
    this.#parties = new Parties(simulation, party.send);
    this.#receivers = new Receivers(simulation, (url) => this.#endpointOf(url));
    this.account = new Account(
      simulation,
      deploymentOf(this.settings),
      {
        send: this.#send,
        post: this.#receivers.post,
        takesMs: (url) => this.#receivers.takesMs.get(url),
        isBusUp: () => !this.#parties.down.has('bus'),
        isPoison: (by, what) => this.mishaps.isPoison(by, what),
        isWrong: (secretId) => WRONG.some(([mishap, id]) => id === secretId && this.#parties.down.has(mishap)),
        raise: (alarm) => this.alarms.push(alarm),
        report: (of, error) => this.reported.push({ of, error, atMs: this.nowMs }),
      },
      postgres,
    );
    this.mishaps = new Mishaps(this.account);
    this.#restores = new TableRestores({
      simulation,
      database: this.account.database,
      isByHand: () => this.mishaps.isByHand,
      books: this.account.books,
      reachable: (isReachable) => this.#tablesReachable(isReachable),
      at: (...planned) => this.at(...planned),
    });
    // With PostgreSQL as the authority, half of the histories have outages of PostgreSQL instead of DynamoDB.
    const isPostgres = postgres !== undefined && simulation.decide('outages of PostgreSQL') < 0.5;
    const database = isPostgres ? 'postgres' : 'dynamodb';
    simulation.outageOf = (service) => {
      if (['dynamodb', 'postgres'].includes(service) && this.#parties.down.has('all tables')) return GONE;
      if (service === database && this.#parties.down.has('all dynamodb')) return BROKEN;
      if (service === 'dynamodb') return undefined;
      if (this.#parties.down.has(`all ${service}`)) return BROKEN;
      return this.#parties.down.has(`all answers of ${service}`) ? ANSWERS_LOST : undefined;
    };
    this.requests = new RequestTransports(this.account, () => !this.#parties.down.has('bus'));
  }

  /** @param postgres an empty database, which is the authority @default DynamoDB is the authority */
  static async begin(seed: number, muted: readonly string[] = [], postgres?: Database): Promise<SimulatedSystem> {
    const tenants = {
      shop: tenantNamed('shop'),
      studio: tenantNamed('studio'),
      shop_live: tenantNamed('shop', 'live'),
    };
    const system = new SimulatedSystem(new Simulation(seed, START_MS, muted), tenants, postgres);
    for (const tenant of Object.values(tenants)) await registerTenant(system.account.database, tenant, system.nowMs);
    // From now on, changes of rows schedule job runs.
    const jobs = new JobClock(system.simulation, system.database, (job, atMs) => system.#fire(job, atMs));
    if (system.account.books !== undefined) system.account.books.onWaiting = () => jobs.runNow('carry');
    system.account.onParked = () => jobs.runNow('republish-events');
    system.#jobs = jobs;
    system.#expire(1);
    return system;
  }

  get nowMs(): number {
    return this.simulation.nowMs;
  }
  get database(): Observed['database'] {
    return this.account.books?.seen ?? this.account.database;
  }
  get published(): Observed['published'] {
    return this.account.published;
  }
  get callbacks(): Observed['callbacks'] {
    return [...this.#callbacks.values()];
  }
  get webhooks(): Observed['webhooks'] {
    return this.#receivers.received;
  }
  get shop(): Observed['shop'] {
    return this.#parties.actions;
  }
  get mails(): Observed['mails'] {
    return this.#parties.mails;
  }
  get faults(): Observed['faults'] {
    return this.simulation.faults;
  }
  get restores(): Observed['restores'] {
    return this.#restores.seen;
  }
  get isRestoring(): boolean {
    return this.#parties.down.has('all tables');
  }
  get exports(): Observed['exports'] {
    return this.account.exports.texts;
  }
  get queues(): Observed['queues'] {
    return this.account.queues.left;
  }

  get crowds(): Observed['crowds'] {
    return this.account.queues.most;
  }

  async run(untilMs: number): Promise<void> {
    await this.simulation.run(untilMs);
  }

  /**
   * All work must be completed within `days`. After a day, an operator redrives the dead letters and the parked
   * records, as their alarms require.
   */
  async becomeQuiet(days: number): Promise<void> {
    this.#restores.end();
    await this.run(this.#restores.recoveredAtMs + RECOVERY_MS);
    this.deploy({ faults: {}, clockSkewMs: 0 });
    this.faultsEndedAtMs = this.nowMs;
    this.#outages.clear();
    for (const name of this.#parties.down) this.#upOrDown(name, true);
    this.mishaps.fixAll();
    this.#parties.silentParties.clear();
    this.#receivers.answers.clear();
    this.#jobs?.resumeAll();
    await this.run(this.nowMs + DAY_MS);
    this.#redriveAll();
    await this.run(this.nowMs + (days - 1) * DAY_MS);
    this.archived = await this.account.archive.read();
    this.quiet = true;
  }

  #redriveAll(): void {
    const dead = Object.keys(this.queues).filter((name) => name.endsWith('-dead'));
    for (const name of [...dead, 'relay-parked']) this.redrive(name);
    if ((this.queues['letters'] ?? 0) > 0)
      this.at(this.nowMs, 'the letters are redriven', () => this.redriveDeadLetters());
  }

  /** DynamoDB deletes expired rows within a few days. */
  #expire(day: number): void {
    const name = `expiry of day ${day}`;
    this.simulation.plan(START_MS + day * DAY_MS, Math.floor(this.decide(name) * 2 ** 32), () => {
      if (this.decide(`${name} comes`) < EXPIRY_SHARE) this.account.database.deleteExpired();
      this.#expire(day + 1);
    });
  }

  async api(request: ApiRequest): Promise<ClientCall> {
    const { step, tenant, method, path, key, body } = request;
    const call: Call = {
      step,
      tenant,
      method,
      path,
      sentAtMs: this.nowMs,
      ...(key === undefined ? {} : { key }),
      ...(body === undefined ? {} : { body }),
    };
    this.calls.push(call);
    const client = this.simulation.process;
    const about = `${client.name} ${client.token()}`;
    const answering = this.account.request(about, this.#eventOf(request, client), client);
    const answer = await (request.patienceMs === undefined
      ? answering
      : client.until(Promise.race([answering, this.#after(request.patienceMs, client)])));
    if (answer !== undefined) call.answer = { ...answer, well: this.#well() };
    return call;
  }

  onCallback(take: Parameters<RunningSystem['onCallback']>[0]): void {
    this.#take = take;
  }

  onLater(take: Parameters<RunningSystem['onLater']>[0]): void {
    this.#later = take;
  }

  async callback(processor: string, event: SandboxEvent): Promise<number> {
    const by = this.simulation.process;
    const body = JSON.stringify(event);
    const { processor: called, mode } = BOOKS[processor as keyof typeof BOOKS];
    const secret = secretText(mode === 'live' ? Secret.liveCallbacks : Secret.callbacks);
    const signature = sign(secret, Math.floor(this.nowMs / 1_000), body);
    const headers = { 'content-type': 'application/json', [SIGNATURE_HEADER]: signature };
    const request = {
      ...gatewayEvent('POST', `/callbacks/${called.name}/${mode}`, headers),
      body,
      requestContext: { requestId: by.token() },
    };
    const name = `${processor} ${event.id}`;
    const posted = this.#callbacks.get(name) ?? {
      processor,
      chargeId: event.data.charge,
      firstAtMs: this.nowMs,
    };
    this.#callbacks.set(name, posted);
    const { status } = await this.account.request(`${by.name} ${by.token()}`, request, by);
    // Record only the first accepted delivery: after a redelivery, Payonce need not read the charge again.
    if (status < 300) posted.takenAtMs ??= this.nowMs;
    return status;
  }

  #well(): readonly string[] {
    return Object.entries(this.processors).flatMap(([name, { inside }]) => {
      const isTroubled = this.troubles.some(
        ({ of, untilMs = this.nowMs }) => isAbout(of, name) && this.nowMs - untilMs < WELL_MS,
      );
      return isTroubled || inside.hasFailing ? [] : [name];
    });
  }

  deploy(settings: Partial<Settings>): void {
    this.settings = { ...this.settings, ...settings };
    const { faults, clockSkewMs, cron } = this.settings;
    const isCredentialRefused = cron && 2 * clockSkewMs > CREDENTIAL_TOLERANCE_MS;
    this.#trouble('all', Object.keys(faults).length > 0 || isCredentialRefused);
    this.simulation.rates = this.settings.faults;
    this.account.deployment = deploymentOf(this.settings);
  }

  async runJob(id: string): Promise<void> {
    const by = this.simulation.process;
    const [tenant = ''] = Object.keys(this.tenants);
    const path = `/v1/admin/jobs/${id}/runs`;
    const request: ApiRequest = { step: 0, tenant, method: 'POST', path, key: `job-${by.token()}`, as: 'operator' };
    await this.account.request(`${by.name} ${by.token()}`, this.#eventOf(request, by), by);
  }

  async occupyJob(id: string, forMs: number): Promise<boolean> {
    const { pacing, documents } = this.#operator();
    const runs = new DynamoDbJobRuns(documents, TABLES, pacing);
    // Run ids have a resolution of one second, so date the earlier run one second back.
    const earlier = runIdOf(id, this.nowMs - 1_000);
    const lock = await runs.lock(id, earlier, { nowMs: this.nowMs, leaseExpiresAtMs: this.nowMs + forMs });
    return lock !== undefined;
  }

  redrive(queue: string): void {
    if (queue !== 'relay-parked') this.account.queues.redrive(queue);
    else if (this.mishaps.parked.length > 0)
      this.at(this.nowMs, 'parked records are redriven', () => this.mishaps.redriveParked(() => this.rebuildViews()));
  }

  async redriveDeadLetters(): Promise<void> {
    const process = this.simulation.process;
    const order = { action: 'redrive', atMost: MAX_DEAD_LETTERS };
    await process.until(this.account.invoke('dead-letters', process.token(), order));
  }

  async republish(fromMs: number, untilMs: number): Promise<void> {
    const process = this.simulation.process;
    let sinceMs = fromMs;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const ended = await process.until(this.account.invoke('republish-range', process.token(), { sinceMs, untilMs }));
      const { nextMs } = ended.kind === 'returned' ? (ended.value as { readonly nextMs?: number }) : {};
      if (nextMs === undefined) return;
      sinceMs = nextMs;
    }
  }

  rebuildViews(): Promise<void> {
    return rebuildAllViews(this.#operator());
  }

  asOperator<Result>(command: (operator: ReturnType<typeof operatorIn>) => Promise<Result>): Promise<Result> {
    return command(this.#operator());
  }

  erase(id: string): Promise<void> {
    return eraseNamed(this.#operator(), id, this.account.books?.operatorIn(this.simulation.process));
  }

  loseTables(...named: Parameters<RunningSystem['loseTables']>): void {
    this.#restores.loseWithin(...named);
  }

  processorUp(processor: string, isUp: boolean): void {
    this.#upOrDown(processor, isUp);
  }

  partyUp(party: Parameters<RunningSystem['partyUp']>[0], isUp: boolean): void {
    this.#upOrDown(party, isUp);
    // After an outage, run the job that publishes the missing events.
    if (party === 'bus' && isUp) this.#jobs?.runNow('republish-events');
  }

  mishap(what: Mishap, isOver: boolean): void {
    this.#upOrDown(what, isOver);
    // Run the job when the outage begins, so that the job's mark is recent, and when the outage ends, to publish the
    // missing events.
    if (what === 'relay') this.#jobs?.runNow('republish-events');
  }

  #tablesReachable(isReachable: boolean): void {
    this.#upOrDown('all tables', isReachable);
    if (!isReachable) return;
    this.deploy({});
    this.#jobs?.resumeAll();
    // The operator compares the books after a restore (docs/operate/runbook/data.md).
    this.#jobs?.runNow('reconcile-days');
  }

  poison(...named: Parameters<RunningSystem['poison']>): void {
    this.mishaps.poison(...named);
  }

  changeByHand(...named: Parameters<RunningSystem['changeByHand']>): Promise<string> {
    return this.mishaps.changeByHand(...named);
  }

  setPartyAnswers(party: Parameters<RunningSystem['setPartyAnswers']>[0], areAnswersReceived: boolean): void {
    if (areAnswersReceived) this.#parties.silentParties.delete(party);
    else this.#parties.silentParties.add(party);
  }

  endpointAnswers(url: string, status: number | 'timeout', afterMs?: number): void {
    this.#receivers.answers.set(url, status);
    if (afterMs !== undefined) this.#receivers.takesMs.set(url, afterMs);
  }

  inside<Result>(processor: string, act: (inside: SandboxInProcess['inside']) => Promise<Result>): Promise<Result> {
    const found = this.processors[processor];
    invariant(found !== undefined, `unknown processor: ${processor}`);
    return this.#outside(() => act(found.inside));
  }

  at(atMs: number, name: string, what: () => void | Promise<void>): void {
    const unique = this.simulation.named(name);
    const order = Math.floor(this.simulation.decide(`${unique} order`) * 2 ** 32);
    const act = async (): Promise<void> => {
      const ended = await this.simulation.spawn(unique, name, async () => what());
      if (ended.kind === 'threw') this.simulation.fail(ended.error);
    };
    this.simulation.plan(atMs, order, () => void act());
  }

  sleep(ms: number): Promise<void> {
    return this.simulation.process.sleep(ms);
  }

  decide(label: string): number {
    return this.simulation.decide(label);
  }

  /** The external system waits for I/O instead of simulated events. */
  #outside<Result>(what: () => Promise<Result>): Promise<Result> {
    const { simulation } = this;
    simulation.busy(1);
    return simulation.process.until(what().finally(() => simulation.busy(-1)));
  }

  #processor(name: keyof typeof BOOKS): SandboxInProcess {
    const { simulation } = this;
    const { processor, mode } = BOOKS[name];
    return createSandboxInProcess({
      clock: simulation.calledClock,
      abilities: processor.abilities,
      mode,
      newId: (prefix) => `${prefix}${simulation.process.token().replaceAll('-', '_')}`,
      onEvent: (event) => this.#take(name, event),
      later: (afterMs, what) => this.#later(name, afterMs, () => this.#outside(what)),
    });
  }

  #trouble(of: string, begins: boolean): void {
    for (const trouble of this.troubles) if (trouble.of === of) trouble.untilMs ??= this.nowMs;
    if (begins) this.troubles.push({ of, fromMs: this.nowMs });
  }

  #upOrDown(name: string, isUp: boolean): void {
    const outages = Math.max(0, (this.#outages.get(name) ?? 0) + (isUp ? -1 : 1));
    this.#outages.set(name, outages);
    if (isUp && outages > 0) return;
    this.#trouble(name, !isUp);
    if (isUp) this.#parties.down.delete(name);
    else this.#parties.down.add(name);
    if (name === 'relay') this.account.throttled[isUp ? 'delete' : 'add']('outbox-relay');
  }

  readonly #send: SendRequest = async (call) => {
    const { origin, pathname } = new URL(call.url);
    if (origin === Address.parties) return this.#parties.send(call);
    if (origin === Address.api) return this.#sendToApi(call, pathname);
    const name = origin === Address.sandbox ? 'sandbox' : origin === Address.live ? 'live' : 'second';
    const processor = this.processors[name];
    if (this.#parties.down.has(name) || processor === undefined) throw unreachable(call);
    await this.#parties.delay(name, call, () => processor.send(call));
    if (call.headers['authorization'] !== `Bearer ${secretText(secretOf(BOOKS[name].mode))}`) {
      this.mishaps.refusedCredentials += 1;
      return { status: 401, text: UNAUTHORIZED, headers: new Headers(), retryAfter: null };
    }
    if (this.#parties.down.has(`charges of ${name}`) && call.method === 'GET' && ONE_CHARGE.test(pathname))
      return { status: 404, text: NOT_FOUND, headers: new Headers(), retryAfter: null };
    return processor.send(call);
  };

  async #sendToApi(call: Parameters<SendRequest>[0], path: string): ReturnType<SendRequest> {
    const { simulation } = this;
    const by = simulation.process;
    const { method, headers, body = '' } = call;
    const event = { ...gatewayEvent(method, path, headers), body, requestContext: { requestId: by.token() } };
    simulation.busy(-1);
    const answer = await this.account.request(`${by.name} ${by.token()}`, event, by);
    simulation.busy(1);
    return { status: answer.status, text: answer.body, headers: new Headers(answer.headers), retryAfter: null };
  }

  #callBack(processor: string, event: SandboxEvent): void {
    const name = this.simulation.named(`callback ${event.data.payment ?? processor}`);
    this.at(this.nowMs + 50, name, async () => void (await this.callback(processor, event)));
  }

  #after(ms: number, process: Process): Promise<undefined> {
    return new Promise((resolve) => {
      this.simulation.plan(this.nowMs + ms, process.order(), () => resolve(undefined));
    });
  }

  async #fire(job: string, scheduledForMs: number): Promise<void> {
    const entry = jobEntry(job);
    invariant(entry !== undefined, 'the scheduled job is unknown');
    const runId = runIdOf(job, scheduledForMs);
    if (this.settings.cron) {
      const scheduledTime = new Date(scheduledForMs).toISOString();
      // EventBridge Scheduler and Lambda retry a failed executor.
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const ended = await this.account.invoke('cron-executor', `${runId} ${attempt}`, { job, scheduledTime });
        if (ended.kind === 'returned') return;
      }
      return;
    }
    // Without `cron`, the executor and the route do not run, so write the run as the route does when it accepts a run.
    const run = acceptedRun(job, scheduledForMs, this.nowMs);
    const put = new PutCommand({ TableName: TABLES.registry, Item: runRow(run), ConditionExpression: ROW_IS_NEW });
    await this.account.database.client.send(put).catch((error: unknown) => {
      // Ignore the conflict: an operator has already requested this run.
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    });
    const queue = entry.worker === 'payments' ? 'payment-jobs' : 'upkeep-jobs';
    this.account.queues.put(queue, jobMessageText(run), this.simulation.named(`job ${runId}`));
  }

  #operator(): ReturnType<typeof operatorIn> {
    return operatorIn(this.simulation, this.account.database);
  }

  #endpointOf(url: string): string | undefined {
    return this.database
      .items(TABLES.registry, RegistryRow.webhookEndpoints)
      .flatMap((item) => parseBook(item).endpoints)
      .find((endpoint) => endpoint.url === url)?.id;
  }

  #eventOf({ method, path, key, body, prefer, tenant, as = 'merchant' }: ApiRequest, client: Process): GatewayEvent {
    const found = this.tenants[tenant];
    invariant(found !== undefined, `unknown tenant: ${tenant}`);
    const headers = {
      authorization: `Bearer ${as === 'merchant' ? found.apiKey : OPERATORS[as].key}`,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(prefer === undefined ? {} : { prefer }),
    };
    return {
      ...gatewayEvent(method, path, headers),
      body: body === undefined ? '' : JSON.stringify(body),
      requestContext: { requestId: client.token() },
    };
  }
}
