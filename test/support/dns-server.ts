/** A name server on loopback that returns the records of a test. */
import { createSocket } from 'node:dgram'
import ipaddr from 'ipaddr.js'

export type Records = readonly string[] | 'nxdomain' | 'servfail' | 'silent'

type RecordType = 'A' | 'AAAA' | 'TXT'
const types: ReadonlyMap<number, RecordType> = new Map([
  [1, 'A'],
  [28, 'AAAA'],
  [16, 'TXT'],
])
const numbers = { A: 1, AAAA: 28, TXT: 16 } as const

const rcodes = { nxdomain: 3, servfail: 2 } as const

/** The question of a query: name, type and bytes. */
function questionOf(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = types.get(query.readUInt16BE(at + 1)) ?? 'A'
  return { name: labels.join('.'), type, bytes: query.subarray(12, at + 5) } as const
}

/** RFC 1035 section 4. The TTL is 0, so that no cache keeps a record. */
function responseTo(query: Buffer, records: Exclude<Records, 'silent'>): Buffer {
  const { type, bytes } = questionOf(query)
  const addresses = typeof records === 'string' ? [] : records
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180 | (typeof records === 'string' ? rcodes[records] : 0), 2)
  for (const [index, count] of [1, addresses.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * index)
  const answers = addresses.map((address) => {
    const data = type === 'TXT' ? textOf(address) : Buffer.from(ipaddr.parse(address).toByteArray())
    const record = Buffer.from([0xc0, 12, 0, numbers[type], 0, 1, 0, 0, 0, 0, 0, data.length])
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, bytes, ...answers])
}

/** A text in one string (RFC 1035 section 3.3.14). */
function textOf(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

export async function startDnsServer(zone: (name: string, type: RecordType) => Records) {
  const queries: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { name, type } = questionOf(query)
    queries.push(`${name} ${type}`)
    const records = zone(name, type)
    if (records !== 'silent') socket.send(responseTo(query, records), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    server: `127.0.0.1:${socket.address().port}`,
    queries: queries as readonly string[],
    close: () => socket.close(),
  }
}
