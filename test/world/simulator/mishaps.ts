import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { redrive } from '../../../cli/redriving.ts';
import { DynamoDbActivity } from '../../../lambdas/activity/store/dynamodb-activity.ts';
import { judgeChain, NO_BOUNDS } from '../../../lambdas/archive/domain/judge-chain.ts';
import { DynamoDbLedgerRows } from '../../../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { putBackRow } from '../../../lambdas/archive/store/put-back-row.ts';
import { wholeChain } from '../../../lambdas/archive/use/ledger-rows.ts';
import type { RedriveRequest, RepublishRequest } from '../../../lambdas/events/contract.ts';
import { parkedWork } from '../../../lambdas/events/store/parked-work.ts';
import { isBeyondHorizon } from '../../../lambdas/events/use/redrive-parked.ts';
import { LedgerRow } from '../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../../lambdas/kernel/contract/tables.ts';
import { countingEntropy } from '../../support/counting-entropy.ts';
import { TABLES } from '../tables.ts';
import type { Account } from './account.ts';
import type { ChangeByHand, LongWait, MishapsSeen, Poisoned } from './contract.ts';
import { queueUrl } from './queues.ts';

const PARKED = 'relay-parked';

export class Mishaps implements MishapsSeen {
  readonly #account: Account;
  readonly changesByHand: ChangeByHand[] = [];
  wasPoisoned = false;
  isByHand = false;
  refusedCredentials = 0;
  readonly parkedAgain: string[] = [];
  readonly forgotten: RepublishRequest[] = [];
  readonly #poisoned = new Map<string, Poisoned>();

  constructor(account: Account) {
    this.#account = account;
  }

  get trimmed(): number {
    return this.#account.stream.trimmed;
  }

  get waits(): readonly LongWait[] {
    return this.#account.queues.waits;
  }

  get parked(): readonly string[] {
    return this.#account.queues.bodies(PARKED);
  }

  poison(id: string, by: Poisoned, isFixed: boolean): void {
    this.wasPoisoned = true;
    if (isFixed) this.#poisoned.delete(id);
    else this.#poisoned.set(id, by);
  }

  fixAll(): void {
    this.#poisoned.clear();
  }

  isPoison(by: string, what: unknown): boolean {
    if (![...this.#poisoned.values()].some((each) => each === by)) return false;
    const text = JSON.stringify(what);
    return [...this.#poisoned].some(([id, each]) => each === by && text.includes(id));
  }

  /**
   * As `payonce redrive` does.
   *
   * @param rebuild called if the events of a parked time range are too old for consumers to deduplicate
   */
  async redriveParked(rebuild: () => Promise<void>): Promise<void> {
    const { simulation, queues } = this.#account;
    const { process } = simulation;
    const times = (body: string): number => this.parked.filter((each) => each === body).length;
    await redrive(
      queues.client(() => process),
      queueUrl(PARKED),
      async ({ Body: body = '' }) => {
        const before = times(body);
        // Record a message that was parked again, but not if a bug existed before or after the redrive: that bug may
        // have parked the message.
        const isFixed = (): boolean => this.#poisoned.size === 0;
        const wasFixed = isFixed();
        const request: RedriveRequest = { parked: body };
        const ended = await process.until(this.#account.invoke('republish-range', process.token(), request));
        if (ended.kind !== 'returned') throw new Error('the parked message could not be published');
        if (wasFixed && isFixed() && times(body) > before) this.parkedAgain.push(body);
      },
      () => {},
    );
    const forgotten = this.parked.map(parkedWork).flatMap((work) => {
      if (work.kind !== 'range' || !isBeyondHorizon(work.sinceMs, simulation.nowMs)) return [];
      return [{ sinceMs: work.sinceMs, untilMs: work.untilMs }];
    });
    if (this.#poisoned.size > 0 || forgotten.length === 0) return;
    this.forgotten.push(...forgotten);
    await rebuild();
  }

  /**
   * Does everything without a pause; restores the row as `payonce tables restore-row` does.
   *
   * @param share selects one of the archived rows: a number from 0 up to, but not including, 1
   *
   * @returns `done`, or `nothing` if no row is archived yet
   */
  async changeByHand(id: string, how: ChangeByHand['how'], share: number): Promise<string> {
    const { database, archive, simulation } = this.#account;
    const { client } = database;
    const chain = `${id.startsWith('ord_') ? LedgerRow.order : LedgerRow.payment}${id}`;
    const kept = (await wholeChain(archive.rows, chain)).map(({ row }) => row.sort);
    const rows = database.items(TABLES.ledger, chain).filter((row) => kept.includes(row[KeyAttribute.sort] as string));
    const row = rows[Math.floor(share * rows.length)];
    if (row === undefined) return 'nothing';
    const key = { [KeyAttribute.partition]: chain, [KeyAttribute.sort]: row[KeyAttribute.sort] };
    const sort = row[KeyAttribute.sort] as string;
    const pacing = { clock: simulation.process.clock, entropy: countingEntropy() };
    const ledger = new DynamoDbLedgerRows(client, TABLES.ledger, pacing);
    const verified = async (): Promise<readonly string[]> => {
      const now = (await wholeChain(ledger, chain)).map((each) => each.row);
      const lines = (await archive.read()).lines.filter((line) => line.chain === chain);
      // Findings about the newest rows are ignored, because these rows are not archived yet.
      const found = judgeChain(chain, now, lines, NO_BOUNDS).filter(({ kind }) => kind !== 'not_archived');
      return found.map((each) => ('sort' in each ? `${each.kind} ${each.sort}` : each.kind));
    };
    this.isByHand = true;
    if (how === 'removed') await client.send(new DeleteCommand({ TableName: TABLES.ledger, Key: key }));
    else {
      const Item = { ...row, occurredAtMs: Number(row['occurredAtMs']) - 1 };
      await client.send(new PutCommand({ TableName: TABLES.ledger, Item }));
    }
    const found = await verified();
    const putBack = await putBackRow(
      {
        ledger: { table: TABLES.ledger, rows: ledger },
        source: { name: 'archive', rows: archive.rows },
        activity: new DynamoDbActivity(client, TABLES, pacing),
        clock: pacing.clock,
      },
      { chain, sort, id, operator: 'Ada Example', reason: 'Changed by hand' },
    );
    this.isByHand = false;
    this.changesByHand.push({ id, sort, how, found, putBack, left: await verified(), atMs: simulation.nowMs });
    return 'done';
  }
}
