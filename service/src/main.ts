/**
 * The program: `main.ts ROLE`. It loads only what the role runs. `operator` runs one command and ends; `roles.ts` has the
 * other roles. A failed start prints one line and ends with exit code 1.
 */
import './compiled-code.ts'
import { readHelp } from './operator/index.ts'

async function main([role = 'serve', ...args]: readonly string[]): Promise<void> {
  if (role !== 'operator') return (await import('./roles.ts')).runRole(role, args)
  const help = readHelp(args)
  if (help !== undefined) return writeOut(`${help}\n`)
  const ask = process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : undefined
  await (await import('./command.ts')).runCommand(args, writeOut, undefined, ask)
}

/** Prompts on standard error, because standard output may be redirected to the file of a secret. */
async function askOnTerminal(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // End of input (Ctrl-D) and Ctrl-C close the terminal without an answer.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(question).catch(() => ''), closed])
    return answer.trim().toLowerCase() === 'yes'
  } finally {
    terminal.close()
  }
}

/**
 * Writes text and resolves when the reader can receive more. If the reader closes the pipe early, the write fails and
 * ends the command.
 */
function writeOut(text: string): Promise<void> {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined)
  return new Promise((resolve, reject) => process.stdout.write(text, (error) => (error ? reject(error) : resolve())))
}

main(process.argv.slice(2)).catch(async (error: unknown) => {
  const { explainFailure } = await import('./app/process.ts')
  process.stderr.write(`${explainFailure(error)}\n`)
  process.exit(1)
})
