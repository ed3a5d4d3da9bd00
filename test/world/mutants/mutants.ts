import { ALARM_MUTANTS } from './alarm-mutants.ts';
import { AMOUNT_MUTANTS } from './amount-mutants.ts';
import { ARCHIVE_MUTANTS } from './archive-mutants.ts';
import { CHARGE_MUTANTS } from './charge-mutants.ts';
import { INTAKE_MUTANTS } from './intake-mutants.ts';
import { LIMIT_MUTANTS } from './limit-mutants.ts';
import { MISHAP_MUTANTS } from './mishap-mutants.ts';
import { MODE_MUTANTS } from './mode-mutants.ts';
import { MONEY_MUTANTS } from './money-mutants.ts';
import { edited, type Mutant } from './mutant.ts';
import { ONCE_MUTANTS } from './once-mutants.ts';

/** `payonce simulate --mutants` reports how many histories it takes to find each fault. */
export const MUTANTS: readonly Mutant[] = [
  ...MONEY_MUTANTS,
  ...CHARGE_MUTANTS,
  ...ONCE_MUTANTS,
  ...MODE_MUTANTS,
  ...LIMIT_MUTANTS,
  ...INTAKE_MUTANTS,
  ...ARCHIVE_MUTANTS,
  ...MISHAP_MUTANTS,
  ...AMOUNT_MUTANTS,
  ...ALARM_MUTANTS,
];

export function filesOf({ edits }: Mutant): readonly string[] {
  return [...new Set(edits.map(({ file }) => file))];
}

/** @throws Error unless each text to replace occurs exactly once */
export function mutated(mutant: Mutant, file: string, source: string): string {
  return edited(
    source,
    mutant.edits.filter((edit) => edit.file === file),
  );
}
