package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	client := must(NewClientWithResponses(os.Getenv("URL_OF"), WithRequestEditorFn(withKey)))

	key := "once"
	body := PostVideosBody{Model: "instant-1", Prompt: "A paper boat", Seconds: 4, AspectRatio: PostVideosBodyAspectRatioN169}
	made := must(client.PostVideosWithResponse(ctx, &PostVideosParams{IdempotencyKey: &key}, body)).JSON200
	read := must(client.GetVideosByVideoIdWithResponse(ctx, made.Id, nil)).JSON200
	body.Seconds = 99
	refused := must(client.PostVideosWithResponse(ctx, nil, body)).JSON400

	var message PostChatCompletionsBody_Messages_Item
	var content ChatUserMessageParam_Content
	must(0, content.FromChatUserMessageParamContent0("Hi"))
	must(0, message.FromChatUserMessageParam(ChatUserMessageParam{Role: ChatUserMessageParamRoleUser, Content: content}))
	asked := PostChatCompletionsBody{Model: "sandbox-1", Messages: []PostChatCompletionsBody_Messages_Item{message}}
	chat := must(client.PostChatCompletionsWithResponse(ctx, asked)).JSON200

	var input PostResponsesBody_Input
	must(0, input.FromPostResponsesBodyInput0("Hi"))
	response := must(client.PostResponsesWithResponse(ctx, PostResponsesBody{Model: "sandbox-1", Input: &input})).JSON200
	include := []GetResponsesByResponseIdParamsInclude{"reasoning.encrypted_content"}
	stored := must(client.GetResponsesByResponseIdWithResponse(ctx, response.Id, &GetResponsesByResponseIdParams{Include: &include})).JSON200

	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	must(0, writer.WriteField("purpose", "user_data"))
	part := must(writer.CreateFormFile("file", "note.txt"))
	must(part.Write([]byte("hello")))
	must(0, writer.Close())
	file := must(client.PostFilesWithBodyWithResponse(ctx, writer.FormDataContentType(), &form)).JSON200
	bytesOf := must(client.GetFilesByFileIdContentWithResponse(ctx, file.Id, nil)).Body

	fmt.Println(string(must(json.Marshal(map[string]any{
		"job":     read.Id == made.Id,
		"refused": refused.Error.Param,
		"said":    chat.Choices[0].Message.Role,
		"stored":  stored.Status,
		"bytes":   string(bytesOf),
	}))))
}
