/** Commands of the operator in this process. `run(['operator', ...])` of program.ts runs one in a process of its own. */
import type { ConfirmationPrompt } from '../../service/src/operator/index.ts'
import type { Ending, Environment } from './program.ts'

/**
 * Runs the command as `main.ts operator` does with only this environment. `ask` is the terminal of a person; without it no person says yes. The modules
 * are loaded on the first command.
 */
export async function runOperator(
  words: readonly string[],
  env: Environment,
  ask?: ConfirmationPrompt,
): Promise<Ending> {
  const { runCommand } = await import('../../service/src/command.ts')
  const { explainFailure } = await import('../../service/src/app/process.ts')
  let stdout = ''
  const write = async (text: string) => void (stdout += text)
  try {
    await runCommand(words, write, env, ask)
    return { code: 0, stdout, stderr: '' }
  } catch (error) {
    return { code: 1, stdout, stderr: `${explainFailure(error)}\n` }
  }
}
