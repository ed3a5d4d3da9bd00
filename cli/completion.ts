import { type Command, InvalidArgumentError } from 'commander';
import type { Session } from './session.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletion(program: Command, session: Session): void {
  program
    .command('completion')
    .description('prints a completion script for a shell')
    .argument('<shell>', `one of ${SHELLS.join(', ')}`, readShell)
    .action((shell: Shell) => {
      const words = wordsOf(program);
      const script = shell === 'fish' ? fish(words) : bash(words, shell === 'zsh');
      session.show({ shell, script }, [script]);
    });
}

/** Keyed by the words that were typed before. Command names come first, then options. */
function wordsOf(program: Command): ReadonlyMap<string, readonly string[]> {
  const options = (command: Command) => command.options.flatMap(({ long }) => long ?? []);
  const follow = (command: Command) => [...command.commands.map((each) => each.name()), ...options(command)];
  const ofProgram = options(program);
  const below = program.commands.flatMap((group): [string, readonly string[]][] => [
    [group.name(), [...follow(group), ...ofProgram]],
    ...group.commands.map((each): [string, readonly string[]] => [
      `${group.name()} ${each.name()}`,
      [...options(each), ...options(group), ...ofProgram],
    ]),
  ]);
  return new Map([['', follow(program)], ...below]);
}

function bash(words: ReadonlyMap<string, readonly string[]>, isZsh: boolean): string {
  const cases = [...words].map(([path, next]) => `    '${path}') words='${next.join(' ')}' ;;`);
  return [
    ...(isZsh ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_payonce() {',
    "  local word path='' words=''",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell reads it
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do case $word in -*) ;; *) path="${path:+$path }$word" ;; esac; done',
    '  case $path in',
    ...cases,
    '  esac',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell reads it
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -F _payonce payonce',
  ].join('\n');
}

function fish(words: ReadonlyMap<string, readonly string[]>): string {
  const lines = [...words].flatMap(([path, next]) => {
    const given =
      path === '' ? "'__fish_use_subcommand'" : `'__fish_seen_subcommand_from ${path.split(' ').at(-1) ?? ''}'`;
    return next.map((word) =>
      word.startsWith('--')
        ? `complete -c payonce -n ${given} -l ${word.slice(2)}`
        : `complete -c payonce -f -n ${given} -a ${word}`,
    );
  });
  return lines.join('\n');
}

function readShell(text: string): Shell {
  const shell = SHELLS.find((each) => each === text);
  if (shell !== undefined) return shell;
  throw new InvalidArgumentError(`${text} is not a supported shell: ${SHELLS.join(', ')}.`);
}
