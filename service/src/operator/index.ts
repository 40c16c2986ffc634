/**
 * The operator's commands. Each prints one JSON object or list to standard output; a statement prints its lines. They
 * use the database of the service and may run while the service runs.
 */
export type { ConfirmationPrompt, CommandResult, OutputWriter } from './context.ts'
export { readHelp } from './declarations.ts'

/** The first call loads the commands: `--help` needs none of them. */
export const loadCommands = () => import('./commands.ts')
