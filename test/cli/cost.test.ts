import { describe, expect, test } from '@jest/globals';
import { endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { inTurn } from '../support/slice.ts';

const SECRET = 'arn:aws:secretsmanager:us-east-1:111122223333:secret:payonce-AbCdEf';

async function cost(...arguments_: readonly string[]): Promise<string> {
  const printed: string[] = [];
  const print = (text: string): void => void printed.push(text);
  const program = payonceProgram({ print, isTerminal: false, freshKey: () => 'key' });
  await program.parseAsync(['node', 'payonce', 'cost', ...arguments_]);
  return printed.join('\n');
}

describe('payonce cost', () => {
  /** Each test synthesizes the stacks. */
  const turn = (place: number) => inTurn(test, { place, of: 3, otherwise: test.skip });

  turn(0)('prints a bill for the given settings and monthly payments; its lines add up to the total', async () => {
    const bill = JSON.parse(
      await cost('--json', '-c', 'payonce:firewall=true', 'payonce:archive=true', '--payments', '1000000'),
    ) as {
      lines: { what: string; number: number; usd: number }[];
      totalUsd: number;
    };
    const usd = (what: string): number | undefined => bill.lines.find((line) => line.what === what)?.usd;
    expect(usd('web ACLs')).toBe(5);
    expect(usd('requests that a web ACL inspects')).toBeCloseTo(1.2);
    expect(usd('GB of the archive in S3, added every month')).toBeCloseTo(0.07);
    expect(usd('payments with a reference')).toBeCloseTo(15.24, 1);
    expect(bill.lines.reduce((sum, line) => sum + line.usd, 0)).toBeCloseTo(bill.totalUsd);
  });

  const ofCopies =
    'with authority=postgres, bills the job, metrics and alarms of the copies, and fewer writes and bytes in DynamoDB';
  turn(1)(ofCopies, async () => {
    const context = ['payonce:authority=postgres', `payonce:postgresSecretArn=${SECRET}`];
    const linesOf = async (...arguments_: readonly string[]) => {
      const text = await cost('--json', '--payments', '1000000', ...arguments_);
      const { lines } = JSON.parse(text) as { lines: { what: string; number: number; usd: number }[] };
      return new Map(lines.map((line) => [line.what, line]));
    };
    const [plain, postgres] = [await linesOf(), await linesOf('-c', ...context)];
    const more = (what: string) => Number(postgres.get(what)?.number) - Number(plain.get(what)?.number);
    expect(more('job runs that find nothing to do')).toBe(730 * 60);
    expect(more('custom metrics')).toBe(2);
    expect(more('alarms')).toBeGreaterThanOrEqual(2);
    const ofPayment = (lines: typeof plain) => Number(lines.get('payments with a reference')?.usd);
    expect(ofPayment(postgres)).toBeLessThan(ofPayment(plain) - 4);
    expect(more('GB stored in DynamoDB, added every month')).toBeLessThan(-0.5);
    // A process reads the database secret only when it connects.
    expect(more('reads of secrets')).toBe(0);
  });

  turn(2)('prints a readable table by default, without the cost of payments', async () => {
    const text = await cost();
    expect(text).toMatch(/^WHAT +NUMBER +PRICE IN USD +USD A MONTH\nalarms +\d+ +0.10 +\d+\.\d\d\n/);
    expect(text).toMatch(/\ntotal +\d+\.\d\d\n/);
    expect(text).not.toContain('webhooks');
  });

  test.each([
    [['-c', 'firewall=true'], 'firewall=true is not a setting like payonce:firewall=true.'],
    [['-c', 'payonce:firewall=maybe'], 'payonce:firewall'],
    [['--payments', '-1'], '-1 is not a number from 0 to 1000000000.'],
  ])('refuses %j with a message of one sentence', async (arguments_, sentence) => {
    const ending = await cost(...arguments_).then(() => undefined, endingOf);
    expect(ending).toMatchObject({ exitCode: 2, sentence: expect.stringContaining(sentence) as unknown });
  });
});
