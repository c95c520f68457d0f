/** Parts of the client library that need Node: the file store. */
export { type FileStoreOptions, fileStore } from './file-store.ts'
