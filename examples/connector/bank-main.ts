/** `node examples/connector/bank-main.ts [port]`: runs the example bank and prints its address. Ends with SIGTERM. */
import { startBank } from './bank.ts'

const bank = await startBank({}, Number(process.argv[2] ?? 0))
process.stdout.write(`${bank.url}\n`)
process.once('SIGTERM', () => void bank.close())
