/** A valid request for each operation, from the example in its declaration. The generated tests derive invalid ones from it. */
import { randomUUID } from 'node:crypto'
import {
  type ExampleValue,
  isRawNumber,
  isWrite,
  type Operation,
  type OperationId,
  operationIds,
  operations,
  type Placeholder,
} from '@partner-payments/wire'
import { pain001Text } from './pain001.ts'
import { uniqueEmail, type World } from './world.ts'

export type ValidRequest = { readonly target: string; readonly body?: string }

/** `varied`: another request each time, with every field. `readable`: with the texts that a reader of the examples recognises. */
type Form = 'varied' | 'readable'

const isPlaceholder = (value: object): value is Placeholder => 'fill' in value

function fill(placeholder: Placeholder, world: World, form: Form): string {
  switch (placeholder.fill) {
    case 'resource':
      return world[placeholder.resource]
    case 'unique':
      return (form === 'readable' ? placeholder.readable : undefined) ?? randomUUID()
    case 'email':
      return uniqueEmail()
    case 'time':
      return new Date(Date.now() - placeholder.secondsAgo * 1000).toISOString()
    case 'newYear':
      return `${new Date().getUTCFullYear() + 1}-01-01`
    case 'pain001':
      return pain001Text(randomUUID().replaceAll('-', ''), [{ minor: 100n }])
  }
}

function filled(value: ExampleValue, world: World, form: Form): unknown {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
  if (Array.isArray(value)) return value.map((item: ExampleValue) => filled(item, world, form))
  if (isPlaceholder(value)) return fill(value, world, form)
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, filled(field as ExampleValue, world, form)]),
  )
}

/** The request of the example of an operation, with the resources of the world. */
export function requestOf({ path, example }: Operation, world: World, form: Form = 'varied'): ValidRequest {
  const { params = {}, query = {} } = example
  const text = (value: ExampleValue) => encodeURIComponent(String(filled(value, world, form)))
  const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`the example of ${path} has no value of the path parameter ${name}`)
    return text(value)
  })
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${text(value)}`)
  const body = form === 'varied' ? (example.fullBody ?? example.body) : example.body
  return {
    target: [target, ...(pairs.length === 0 ? [] : [pairs.join('&')])].join('?'),
    ...(body === undefined ? {} : { body: JSON.stringify(filled(body, world, form)) }),
  }
}

export type Subject = {
  readonly id: OperationId
  readonly operation: Operation
  /** The name in test titles: `POST /v1/payouts/fiat`. */
  readonly name: string
  readonly isWrite: boolean
  readonly request: (world: World) => ValidRequest
}

/** Every operation of the table, with its valid request. */
export const subjects: readonly Subject[] = operationIds.map((id) => {
  const operation: Operation = operations[id]
  const name = `${operation.method} ${operation.path}`
  return { id, operation, name, isWrite: isWrite(operation), request: (world) => requestOf(operation, world) }
})
export const subjectsWithBody = subjects.filter((subject) => subject.operation.body !== undefined)
