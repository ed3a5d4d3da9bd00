import { askSandbox, localAws } from '../support/local-aws.ts';
import { findingsIn, lives, type Plan } from './python-lives.ts';

export interface Charges {
  readonly data: readonly { readonly amount: number; readonly status: string }[];
  readonly next: string | null;
}

export async function chargedAmounts(fromSeconds: number): Promise<readonly number[]> {
  const amounts: number[] = [];
  const period = `created_from=${fromSeconds}&created_to=${Math.floor(Date.now() / 1000) + 1}`;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await askSandbox(`/charges?${period}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const { data, next } = (await answer.json()) as Charges;
    amounts.push(...data.map(({ amount }) => amount));
    cursor = next;
  }
  return amounts;
}

/** No other test uses this or the following amounts. */
let nextAmount = 75_000_000;

export async function surveyDeployed(plan: Pick<Plan, 'folder' | 'store' | 'crashes'> & Partial<Plan>, program = '') {
  const fromSeconds = Math.floor(Date.now() / 1000) - 1;
  const { apiUrl: url, apiKey } = localAws();
  const amount = nextAmount;
  nextAmount += 1_000;
  const own = { points: 'steps', source: 'tok_ok', url, api_key: apiKey, amount } as const;
  const histories = await lives({ ...own, ...plan }, program);
  return { findings: findingsIn(histories, await chargedAmounts(fromSeconds)), histories: histories.length };
}
