/** Jobs that are due. */
export const VIDEO_QUEUE = 'videos'
/** Canceled jobs whose render is to be stopped at the engine. */
export const CANCEL_QUEUE = 'video-cancels'

/** Changed jobs are announced on this topic, to whoever keeps them in memory. */
export const VIDEO_TOPIC = 'video'
/** Jobs that were deleted, as `<org_id>/<id>`: their rows cannot be asked for the organization any more. */
export const DELETED_TOPIC = 'video-deleted'
/** Canceled jobs, to the worker that has them. */
export const CANCEL_TOPIC = 'video-cancel'
