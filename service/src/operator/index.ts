/**
 * The operator's commands. Each prints one JSON object or list to standard output; a statement prints its lines. They
 * use the database of the service and may run while the service runs.
 */
import type { Config } from '../app/config.ts'
import type { DeskChanges } from '../pages/index.ts'
import type { ConfirmationPrompt, Context, CommandResult } from './context.ts'

export type { ConfirmationPrompt, CommandResult, Write } from './context.ts'
export { readHelp } from './declarations.ts'

// The first call loads the commands: `--help` needs none of them.
export const checkCommand = async (args: readonly string[]): Promise<string | undefined> =>
  (await import('./commands.ts')).checkCommand(args)
export const runOffline = async (args: readonly string[], config: Config): Promise<object | undefined> =>
  (await import('./commands.ts')).runOffline(args, config)
export const runOperatorCommand = async (
  args: readonly string[],
  context: Context,
  ask?: ConfirmationPrompt,
): Promise<CommandResult> => (await import('./commands.ts')).runOperator(args, context, ask)
export const deskChanges = async (context: Context): Promise<DeskChanges> =>
  (await import('./commands.ts')).deskChanges(context)
