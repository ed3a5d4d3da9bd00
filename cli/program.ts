import { userInfo } from 'node:os';
import { Command, type CommanderError } from 'commander';
import { CLOCK_OFFSET } from '../lambdas/kernel/platform/platform.ts';
import { PAYONCE_DIRECTORY } from '../local/directories.ts';
import { StateFile } from '../local/state-file.ts';
import { addActivity } from './activity.ts';
import { addApi } from './api.ts';
import { addApiCommand, addApiGroup } from './api-command.ts';
import { ANNOTATE, API_COMMANDS, GROUPS } from './api-table.ts';
import { addClock } from './clock.ts';
import { addCompletion } from './completion.ts';
import { addConform } from './conform.ts';
import { addCost } from './cost.ts';
import { URL_VARIABLE } from './database.ts';
import { addDb } from './db.ts';
import { addDeadLetters } from './dead-letters.ts';
import { addDoctor } from './doctor.ts';
import { addErase } from './erase.ts';
import { addEvents } from './events.ts';
import { EXAMPLES } from './examples.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { addKeys, addOperators, addTenants } from './keys.ts';
import { addLimits } from './limits.ts';
import { addListen } from './listen.ts';
import { addRedrive } from './redrive.ts';
import { Session, type Surroundings } from './session.ts';
import { addSimulate } from './simulate.ts';
import { addTables } from './tables.ts';
import { addTrigger } from './trigger.ts';
import { addVerify } from './verify.ts';
import { addViews } from './views.ts';

/** Parsing throws a CommanderError for invalid arguments, and passes on the errors that commands throw. */
export function payonceProgram(surroundings: Surroundings): Command {
  const program = new Command('payonce')
    .description('Operates a deployed Payonce, with the AWS credentials and the region that the AWS SDK finds.')
    .option('--local', 'use the local stack that "npm start" runs')
    .option('--environment <name>', 'the setting payonce:environment of the deployment')
    .option('--stack <name>', 'a stack of the deployment, for example staging-PayonceService; instead of --environment')
    .option('--json', 'print one JSON document')
    .option('--directory <path>', 'the directory of the local stack', PAYONCE_DIRECTORY)
    .option('--operator <name>', "the operator's name in the activity log", userInfo().username)
    .addHelpText('after', '\nExit codes: docs/reference/cli.md')
    .hook('preAction', () => {
      // Shells and containers set empty variables. An empty region would override the profile's region, and an empty
      // address the deployment's address.
      for (const name of ['AWS_REGION', 'AWS_ENDPOINT_URL', URL_VARIABLE])
        if (process.env[name] === '') delete process.env[name];
      const { local = false, directory } = program.opts<{ readonly local?: boolean; readonly directory: string }>();
      const offsetMs = local ? new StateFile(directory).clockOffsetMs() : 0;
      if (offsetMs > 0) process.env[CLOCK_OFFSET] = String(offsetMs);
    });
  const session = new Session(program, surroundings);
  const group = (name: keyof typeof GROUPS) => () =>
    addApiGroup(program, session, name, GROUPS[name], API_COMMANDS[name]);
  for (const add of [
    addKeys,
    addTenants,
    addOperators,
    addLimits,
    group('payments'),
    group('orders'),
    group('exports'),
    group('parked'),
    group('webhooks'),
    addListen,
    addTrigger,
    addDeadLetters,
    group('jobs'),
    addEvents,
    addRedrive,
    addViews,
    addVerify,
    addTables,
    addDb,
    addErase,
    () => addApiCommand(program, session, 'annotate <payment>', ANNOTATE),
    addApi,
    addActivity,
  ])
    add(program, session);
  addDoctor(program, session);
  addCost(program, session);
  addSimulate(program);
  addClock(program, session);
  addConform(program, session);
  addCompletion(program, session);
  for (const [name, command] of named(program))
    command.addHelpText('after', `\nExample: payonce ${name} ${EXAMPLES[name] ?? ''}`.trimEnd());
  for (const command of withDescendants(program))
    command
      .exitOverride((error) => {
        if (error.code === 'commander.help' && error.exitCode !== 0) throw withoutCommand(command);
        throw beforeCommand(command, error) ?? error;
      })
      .configureHelp({ showGlobalOptions: true })
      .configureOutput({ writeOut: (text) => surroundings.print(text.trimEnd()), writeErr: () => undefined });
  return program;
}

/** A name is, for example, `keys create` or `simulate`. */
export function commandsOf(program: Command): readonly string[] {
  return named(program).map(([name]) => name);
}

function named(program: Command): readonly (readonly [name: string, command: Command])[] {
  return program.commands.flatMap((group) =>
    group.commands.length === 0
      ? [[group.name(), group] as const]
      : group.commands.map((command) => [`${group.name()} ${command.name()}`, command] as const),
  );
}

function withoutCommand(group: Command): CliFailure {
  const path = group.parent === null ? group.name() : `${group.parent.name()} ${group.name()}`;
  const names = group.commands.map((command) => command.name()).join(', ');
  return new CliFailure(ExitCode.usage, `${path} needs a command: ${names} (see --help).`);
}

/** Returns the failure for an option that was written before the name of the command that has the option. */
function beforeCommand(group: Command, { code, message }: CommanderError): CliFailure | undefined {
  if (code !== 'commander.unknownOption') return undefined;
  const [, option] = /'(--?[^'=]+)/.exec(message) ?? [];
  if (option === undefined) return undefined;
  const isOfCommand = group.commands
    .flatMap(withDescendants)
    .some((command) => command.options.some(({ long, short }) => [long, short].includes(option)));
  if (!isOfCommand) return undefined;
  return new CliFailure(ExitCode.usage, `Write ${option} after the command that it belongs to (see --help).`);
}

function withDescendants(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}
