/** Handles signals: during the start they abort it, later they drain and stop the service. */
import { startedByNpm } from './config.ts'
import type { Log } from '../kernel/index.ts'

export type Signals = {
  /** Aborted by a signal before the service is ready. The start then ends after its current step. */
  readonly start: AbortSignal
  /** Makes a signal drain the service, which then stops. */
  readonly started: (service: RunningService) => void
}
type RunningService = { readonly stop: () => Promise<void>; readonly log: Log }

export function handleSignals(): Signals {
  const start = new AbortController()
  let service: RunningService | undefined
  let isStopping = false
  const onSignal = (signal: string) => {
    if (isStopping) process.exit(1) // A second Ctrl-C ends the process at once.
    isStopping = true
    if (service === undefined) return start.abort()
    service.log.info({ signal }, 'stopping')
    void service.stop().then(() => process.exit(0))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  if (startedByNpm()) onOrphaned(() => onSignal('npm ended'))
  return { start: start.signal, started: (running) => void (service = running) }
}

/** Stops the service if its parent npm was killed, because a killed npm does not forward signals. */
function onOrphaned(stop: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    stop()
  }, orphanCheckMs)
  timer.unref()
}

const orphanCheckMs = 1_000
