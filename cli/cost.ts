import { type Command, InvalidArgumentError } from 'commander';
import { CliFailure, ExitCode } from './failure.ts';
import { type Session, table } from './session.ts';

const MAX_PAYMENTS = 1_000_000_000;

export function addCost(program: Command, session: Session): void {
  program
    .command('cost')
    .description(
      'shows each line of the monthly bill of a deployment, from the templates of this clone and list prices',
    )
    .option('-c, --context <name=value...>', 'a setting, as in cdk deploy', settingOf, {})
    .option(
      '--payments <count>',
      'payments per month, each with a reference, a callback, its event and a webhook',
      payments,
      0,
    )
    .action(async ({ context, payments: count }: { context: Record<string, string>; payments: number }) => {
      const { idleBill, trafficBill } = await import('../lib/cost/bill.ts');
      const { PRICES_AS_OF, totalOf } = await import('../lib/cost/prices.ts');
      const templates = await templatesOf(context);
      const lines = [...idleBill(templates), ...(count === 0 ? [] : trafficBill(templates, count))];
      const total = totalOf(lines);
      const rows = lines.map(({ what, number, price, usd }) => [what, rounded(number), price, usd.toFixed(2)]);
      session.show({ region: 'us-east-1', pricesAsOf: PRICES_AS_OF, payments: count, lines, totalUsd: total }, [
        ...table(['WHAT', 'NUMBER', 'PRICE IN USD', 'USD A MONTH'], [...rows, ['total', '', '', total.toFixed(2)]]),
        `List prices of us-east-1 of ${PRICES_AS_OF}, without the processor's fees, data transfer, taxes and free tiers (docs/operate/costs.md).`,
      ]);
    });
}

/** @throws CliFailure for an invalid setting */
async function templatesOf(context: Readonly<Record<string, string>>) {
  const { synthesizedStacks } = await import('../lib/synthesized.ts');
  try {
    return [...synthesizedStacks(context).values()];
  } catch (error) {
    throw new CliFailure(ExitCode.usage, error instanceof Error ? error.message : String(error));
  }
}

export function settingOf(text: string, settings: Readonly<Record<string, string>>): Record<string, string> {
  const [, name, value] = /^(payonce:[A-Za-z]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError(`${text} is not a setting like payonce:firewall=true.`);
  return { ...settings, [name]: value };
}

function payments(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= MAX_PAYMENTS) return count;
  throw new InvalidArgumentError(`${text} is not a number from 0 to ${MAX_PAYMENTS}.`);
}

function rounded(number: number): string {
  return Number.isInteger(number) ? String(number) : number.toFixed(2);
}
