package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	kinora "kinora/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// What a call answered, without its HTTP response.
func answer[T any](value T, _ any, err error) T {
	return must(value, err)
}

func main() {
	ctx := context.WithValue(context.Background(), kinora.ContextAccessToken, os.Getenv("KEY"))
	configuration := kinora.NewConfiguration()
	configuration.Servers = kinora.ServerConfigurations{{URL: os.Getenv("URL_OF")}}
	client := kinora.NewAPIClient(configuration)

	body := kinora.NewPostVideosBody("instant-1", "A paper boat", 4, "16:9")
	made := answer(client.VideosAPI.PostVideos(ctx).PostVideosBody(*body).IdempotencyKey("once").Execute())
	read := answer(client.VideosAPI.GetVideosByVideoId(ctx, made.Id).Execute())
	body.Seconds = 99
	_, _, err := client.VideosAPI.PostVideos(ctx).PostVideosBody(*body).Execute()
	refused := err.(*kinora.GenericOpenAPIError).Model().(kinora.Error)

	hi := "Hi"
	user := kinora.NewChatUserMessageParam("user", kinora.ChatUserMessageParamContent{String: &hi})
	messages := []kinora.PostChatCompletionsBodyMessagesInner{{ChatUserMessageParam: user}}
	asked := kinora.NewPostChatCompletionsBody("sandbox-1", messages)
	chat := answer(client.ChatAPI.PostChatCompletions(ctx).PostChatCompletionsBody(*asked).Execute())

	input := kinora.NewPostResponsesBody("sandbox-1")
	input.SetInput(kinora.PostResponsesBodyInput{String: &hi})
	response := answer(client.ResponsesAPI.PostResponses(ctx).PostResponsesBody(*input).Execute())
	include := []string{"reasoning.encrypted_content"}
	stored := answer(client.ResponsesAPI.GetResponsesByResponseId(ctx, response.Id).Include(include).Execute())

	must(0, os.WriteFile("note.txt", []byte("hello"), 0o600))
	note := must(os.Open("note.txt"))
	file := answer(client.FilesAPI.PostFiles(ctx).File(note).Purpose("user_data").Execute())
	content := answer(client.FilesAPI.GetFilesByFileIdContent(ctx, file.Id).Execute())
	bytesOf := must(io.ReadAll(content))

	param := refused.Error.Param.Get()
	fmt.Println(string(must(json.Marshal(map[string]any{
		"job":     read.Id == made.Id,
		"refused": param,
		"said":    chat.Choices[0].Message.Role,
		"stored":  stored.Status,
		"bytes":   string(bytesOf),
	}))))
}
