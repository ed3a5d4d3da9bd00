import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { type JobRun } from '../../jobs/domain/job-run.ts';
import { runRow } from '../../jobs/store/job-items.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Pacing, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { TargetRuns } from '../use/call-target.ts';

/** Stores the runs of other services' jobs in the Registry, next to the runs of Payonce's own jobs. */
export class DynamoDbTargetRuns implements TargetRuns {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
  }

  /**
   * A run can have two messages, which are processed in any order. If the target accepted the call of one message, the
   * run has succeeded:
   *
   *   A ── asked: 503 … window ended ────────────────── failed ✗ (it has succeeded)
   *   B ──────────────────────────── asked: 200 ── succeeded ✓
   *
   * A write whose response was lost is repeated, so `failed` may replace `failed`, and `running` may replace `running`.
   */
  async note(run: JobRun): Promise<boolean> {
    const [changes, status] = run.status === 'running' ? ['=', 'running'] : ['<>', 'succeeded'];
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.#table,
          Item: runRow(run),
          ConditionExpression: `attribute_not_exists(#pk) OR #status ${changes} :status`,
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#status': 'status' },
          ExpressionAttributeValues: { ':status': status },
        }),
      ),
    );
    return written.kind === 'applied';
  }
}
