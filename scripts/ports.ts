/**
 * Chooses free ports for a service that another process starts. The ports are below the range of ephemeral ports (32768
 * and above on Linux), so that no outgoing connection takes one before the service starts.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const portMin = 15_000
const portEnd = 32_000

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const listening = Promise.race([
    once(server.listen(port, '127.0.0.1'), 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]).catch(() => false)
  if (!(await listening)) return false
  await once(server.close(), 'close')
  return true
}

/** Returns `count` different ports without a listener. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(portMin, portEnd)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}
