/**
 * Ports for a service that somebody else will open: from below the range that the system hands out for outgoing
 * connections (32768 and up on Linux), so that nothing takes one between the choice and the start.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const lowest = 15_000
const highest = 32_000

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const opened = Promise.race([
    once(server.listen(port, '127.0.0.1'), 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]).catch(() => false)
  if (!(await opened)) return false
  await once(server.close(), 'close')
  return true
}

/** `count` different ports that nobody listens on. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(lowest, highest)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}
