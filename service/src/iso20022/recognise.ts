/** Recognises the message of a file, as its reader reads it. */
import { type MessageName, nameOf } from './messages.ts'
import { type Limits, limitsDefault, type Source } from './source.ts'
import { readTree } from './xml/tree.ts'

/**
 * The name of the message; version: `02`, `08`, empty if there is no namespace. Undefined: an unknown message. Refuses
 * a file that is not a message, by a `MessageProblem`. Reads the source until the message begins.
 */
export async function recognise(source: Source, limits?: Partial<Limits>): Promise<MessageName | undefined> {
  let begun: { readonly name: MessageName | undefined } | undefined
  const reader = {
    began: (namespace: string, { name }: { readonly name: string }) => {
      begun = { name: nameOf(namespace, name) }
    },
    ended: () => 'released' as const,
  }
  try {
    for await (const _ of readTree(source, reader, { ...limitsDefault, ...limits })) if (begun !== undefined) break
  } catch (error) {
    // The reader of the message reports problems after its beginning.
    if (begun === undefined) throw error
  }
  return begun?.name
}
