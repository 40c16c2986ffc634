/** A PostgreSQL that is killed and started again on the same data, behind an address that stays. Durable: it must be. */
import { chmodSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../service/src/postgres/embedded/index.ts'
import { applyMigrations } from './postgres.ts'
import { startWire } from './tcp-proxy.ts'

const portOf = (url: string) => Number(new URL(url).port)

export async function startMortalPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-mortal-'))
  chmodSync(folder, 0o711)
  const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'data'), durable: true })
  let server = await start()
  process.once('exit', () => {
    try {
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // It has ended by itself.
    }
  })
  const wire = await startWire(portOf(server.url))
  const url = Object.assign(new URL(server.url), { port: String(wire.port) }).href
  await applyMigrations(url)
  const revive = async () => {
    server = await start()
    wire.lead(portOf(server.url))
  }
  return {
    url,
    /** As the machine's memory manager or its power does it: no word to anybody. */
    crash: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.ended
      await server.stop()
      await revive()
    },
    /** As an operator does it. */
    restart: async () => {
      await server.stop()
      await revive()
    },
    close: async () => {
      await wire.close()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
