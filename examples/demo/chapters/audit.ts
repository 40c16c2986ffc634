/** The proof of a payment: records under a signed head, verified by a command that needs no connection. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { orderOf, payeeOf, ended } from './payments.ts'
import { present, type Chapter } from './stage.ts'

const command = fileURLToPath(new URL('../../../scripts/verify-proof.ts', import.meta.url))

export const audit: Chapter = {
  name: 'audit',
  title: 'a payment is proved without the service',
  run: async (stage) => {
    const { client, folder, until, say, show } = stage
    const { reference } = await client.payouts.create(orderOf(await payeeOf(client, 'Grace Hopper'), '12.50'))
    await ended(stage, reference)
    const { data: records } = await client.users.listAuditRecords({ limit: 5 })
    for (const { actor, action } of records.toReversed()) say(`  ${actor.kind} ${action}`)

    say('The service signs a head over the records: of a day, in the sandbox of five seconds.')
    const proof = await until('every record is under a signed head', async () => {
      const found = await client.transactions.getProof(reference)
      return found.pending === 0 && found.records.length > 0 && found
    })
    const head = present((await client.users.listAuditHeads({})).data[0], 'a signed head')
    const file = join(folder, 'proof.json')
    await writeFile(file, JSON.stringify(proof))
    show('npm run verify:proof', await verify(file, head.publicKey), 'exit code 0')
    await writeFile(file, JSON.stringify(proof).replace('12.50', '92.50'))
    show('the same with another amount', await verify(file, head.publicKey), 'exit code 1')
  },
}

const verify = (file: string, key: string) =>
  new Promise<string>((resolve) => {
    execFile(process.execPath, [command, file, '--key', key], (error) => resolve(`exit code ${error?.code ?? 0}`))
  })
