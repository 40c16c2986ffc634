/** A durable PostgreSQL server that tests kill and restart on the same data. Its address stays the same. */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../service/src/postgres/embedded/index.ts'
import { applyMigrations } from './postgres.ts'
import { startTcpProxy } from './tcp-proxy.ts'

const portOf = (url: string) => Number(new URL(url).port)

export async function startCrashingPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-crashing-'))
  chmodSync(folder, 0o711)
  const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'data'), durable: true })
  let server = await start()
  process.once('exit', () => {
    try {
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // The server has already ended.
    }
  })
  const wire = await startTcpProxy(portOf(server.url))
  const url = Object.assign(new URL(server.url), { port: String(wire.port) }).href
  await applyMigrations(url)
  const startAgain = async () => {
    server = await start()
    wire.lead(portOf(server.url))
  }
  return {
    url,
    /** SIGKILL and restart, as after a power cut or when memory runs out. */
    crash: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.ended
      await server.stop()
      await startAgain()
    },
    /** Shutdown and restart, as by an operator. */
    restart: async () => {
      await server.stop()
      await startAgain()
    },
    /** Restart as a replica, which accepts no writes. */
    demote: async () => {
      await server.stop()
      writeFileSync(join(folder, 'data/postgres/standby.signal'), '', { mode: 0o644 })
      await startAgain()
    },
    promote: async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('select pg_promote()')
      await client.end()
    },
    close: async () => {
      await wire.close()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
